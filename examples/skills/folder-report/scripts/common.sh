# Read by the scripts beside it: parameters, and what every answer has in common.
# shellcheck shell=sh
set -eu
export LC_ALL=C

fail() {
    echo "$program: $2" >&2
    exit "$1"
}

# Reads `FOLDER [--limit N] [--days N]` into variables and enters the folder.
read_parameters() {
    [ "$#" -ge 1 ] || fail 2 "no folder was named"
    folder=$1
    shift
    while [ "$#" -gt 0 ]; do
        [ "$#" -ge 2 ] || fail 2 "$1 has no value"
        case $1 in
            --limit) limit=$(whole_number "$1" "$2" 10000) ;;
            --days) days=$(whole_number "$1" "$2" 36500) ;;
            *) fail 2 "there is no parameter $1" ;;
        esac
        shift 2
    done
    [ -d "$folder" ] || fail 1 "$folder is no folder"
    cd -- "$folder" 2>/dev/null || fail 1 "$folder cannot be opened"
    [ -r . ] || fail 1 "$folder cannot be listed"
}

whole_number() {
    case $2 in
        '' | *[!0-9]* | ??????*) fail 2 "$1 is a whole number from 1 to $3" ;;
    esac
    if [ "$2" -lt 1 ] || [ "$2" -gt "$3" ]; then
        fail 2 "$1 is a whole number from 1 to $3"
    fi
    echo "$2"
}

# Turns NUL-separated records into lines; a control character of a name becomes `?`.
lines() {
    tr '\001-\037\177' '?' | tr '\000' '\n'
}

# Ends with what the answer is worth: 3 when a file or folder could not be read.
finish() {
    if [ -s "$complaints" ]; then
        cat "$complaints" >&2
        exit 3
    fi
}

complaints=$(mktemp)
trap 'rm -f "$complaints"' EXIT
