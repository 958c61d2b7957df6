#!/bin/sh
# Counts the lines, words and bytes of one file.
set -eu

if [ "$#" -ne 1 ]; then
    echo "usage: word-count.sh FILE" >&2
    exit 2
fi
if [ ! -f "$1" ] || [ ! -r "$1" ]; then
    echo "word-count: $1 is no readable file" >&2
    exit 1
fi

# `wc` pads its columns; splitting its output drops the blanks.
counts=$(wc -lwc <"$1")
# shellcheck disable=SC2086
set -- $counts
echo "$1 lines, $2 words, $3 bytes"
