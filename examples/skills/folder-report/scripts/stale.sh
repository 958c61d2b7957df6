#!/bin/sh
# Lists files of a folder that nobody changed for a number of days.
program=stale
limit=50
days=180
. "${0%/*}/common.sh"
export TZ=UTC
read_parameters "$@"

# Seconds for the order; the date, size and path are what is shown.
found=$(
    find . -xdev -type f -mtime "+$days" -printf '%T@/%TY-%Tm-%Td/%s/%P\0' 2>"$complaints" |
        sort -z -t / -k 1,1n -k 4 |
        head -z -n "$limit" |
        lines
)
if [ -z "$found" ]; then
    echo "no file is that old"
else
    printf '%s\n' "$found" | while IFS= read -r line; do
        line=${line#*/}
        date=${line%%/*}
        line=${line#*/}
        printf '%s  %8s  %s\n' "$date" "${line%%/*}" "${line#*/}"
    done
fi
finish
