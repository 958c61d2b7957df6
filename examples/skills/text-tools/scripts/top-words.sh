#!/bin/sh
# Lists the most frequent words of one file, the most frequent first, ties in alphabetical order.
set -eu
export LC_ALL=C

usage() {
    echo "usage: top-words.sh FILE [--limit N]" >&2
    exit 2
}

[ "$#" -ge 1 ] || usage
file=$1
shift
limit=10
while [ "$#" -gt 0 ]; do
    case $1 in
        --limit) [ "$#" -ge 2 ] || usage; limit=$2; shift 2 ;;
        *) usage ;;
    esac
done
case $limit in
    '' | *[!0-9]*) echo "top-words: the limit is a whole number from 1 to 1000" >&2; exit 2 ;;
esac
if [ "$limit" -lt 1 ] || [ "$limit" -gt 1000 ]; then
    echo "top-words: the limit is a whole number from 1 to 1000" >&2
    exit 2
fi
if [ ! -f "$file" ] || [ ! -r "$file" ]; then
    echo "top-words: $file is no readable file" >&2
    exit 1
fi

# The whole list is sorted before it is cut, so `head` never ends a writer early.
words=$(tr -cs "A-Za-z0-9'" '\n' <"$file" | tr 'A-Z' 'a-z' | grep -v '^$' | sort | uniq -c | sort -k1,1nr -k2)
[ -z "$words" ] || printf '%s\n' "$words" | head -n "$limit"
