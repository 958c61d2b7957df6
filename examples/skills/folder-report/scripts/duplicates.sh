#!/bin/sh
# Lists groups of files with the same content in a folder.
program=duplicates
limit=50
. "${0%/*}/common.sh"
read_parameters "$@"

# Only files that share their size with another one are read: 20 columns of size, a blank, the path.
# A digest has 64 digits and is followed by two blanks and the path.
found=$(
    find . -xdev -type f -size +0 -printf '%20s %P\0' 2>"$complaints" |
        sort -z |
        uniq -z -w 20 --all-repeated |
        cut -z -c 22- |
        xargs -0 -r sha256sum --zero -- 2>>"$complaints" |
        sort -z |
        uniq -z -w 64 --all-repeated=separate |
        lines |
        cut -c 1-12,65- |
        awk -v limit="$limit" '/^$/ { if (++groups == limit) exit } { print }'
)
if [ -z "$found" ]; then
    echo "no two files have the same content"
else
    printf '%s\n' "$found"
fi
finish
