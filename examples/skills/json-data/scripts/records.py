"""What both scripts share: reading records, finding fields, writing tables."""

import json
import math
import sys

MAX_BYTES = 64 * 1024 * 1024


class NoRecords(Exception):
    """Stdin holds nothing that these scripts can work on."""


def read():
    """Reads an array of objects, one object, or one object a line."""
    raw = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise NoRecords("stdin has more than 64 MiB")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NoRecords(f"stdin is not UTF-8: byte {error.start}") from error
    if not text.strip():
        raise NoRecords("stdin is empty")
    try:
        value = _parse(text)
    except json.JSONDecodeError as whole:
        value = _lines(text, whole)
    except (ValueError, RecursionError) as error:
        raise NoRecords(f"stdin is no usable JSON: {error}") from error
    records = value if isinstance(value, list) else [value]
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise NoRecords(f"record {number} is of type {kind(record)} and not an object")
    if not records:
        raise NoRecords("the array has no records")
    return records


def field(record, path):
    """Returns (True, value) for a field, or (False, None)."""
    if path in record:
        return True, record[path]
    value = record
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return False, None
        value = value[name]
    return True, value


def fields(record, prefix=""):
    """Yields the path and value of every field that is not itself an object with fields."""
    for name, value in record.items():
        if isinstance(value, dict) and value:
            yield from fields(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def kind(value):
    """Returns the JSON type of a value, with whole numbers told apart."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def show(value):
    """Writes a value for a table: one line, numbers without noise."""
    if isinstance(value, str):
        return " ".join(value.split()) or '""'
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.2f}"
    return json.dumps(value, ensure_ascii=False)


def table(header, rows, numeric=()):
    """Writes rows under a header; the named columns are aligned to the right."""
    lines = [header] + rows
    widths = [max(len(line[at]) for line in lines) for at in range(len(header))]
    right = [name in numeric for name in header]
    for line in lines:
        cells = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right)
        ]
        print("  ".join(cells).rstrip())


def run(program, main):
    """Runs a script's main function and turns what stops it into an exit code."""
    try:
        main()
        sys.stdout.flush()
    except NoRecords as error:
        print(f"{program}: {error}", file=sys.stderr)
        sys.exit(1)
    except OverflowError:
        print(f"{program}: the numbers are too large to add up", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


def _parse(text):
    return json.loads(text, parse_constant=_refuse, parse_float=_finite)


def _lines(text, whole):
    """Reads JSON Lines; where that fails too, the first error is the one worth telling."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        raise NoRecords(f"stdin is no JSON: {whole}") from whole
    records = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(_parse(line))
        except (ValueError, RecursionError) as error:
            where = f"line {number} is no JSON: {error}" if number > 1 else f"stdin is no JSON: {whole}"
            raise NoRecords(where) from error
    return records


def _finite(text):
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is beyond what a number can hold")
    return number


def _refuse(name):
    raise ValueError(f"{name} is no JSON")
