#!/bin/sh
# Lists the largest files of a folder.
program=largest
limit=10
. "${0%/*}/common.sh"
read_parameters "$@"

find . -xdev -type f -printf '%s/%P\0' 2>"$complaints" |
    sort -z -t / -k 1,1nr -k 2 |
    head -z -n "$limit" |
    lines |
    while IFS= read -r line; do
        printf '%8s  %s\n' "${line%%/*}" "${line#*/}"
    done
finish
