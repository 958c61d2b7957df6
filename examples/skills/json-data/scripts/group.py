"""Filters, groups and totals the records on stdin."""

import argparse
import json
import math
import operator
import re
import sys

import records

OPERATORS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "~": lambda held, wanted: wanted.casefold() in held.casefold(),
}
CONDITION = re.compile(r"^\s*(.+?)\s*(!=|<=|>=|=|<|>|~)\s*(.*?)\s*$", re.DOTALL)


def main():
    options = arguments()
    rows = [row for row in records.read() if options.where is None or options.where(row)]
    groups = {}
    for row in rows:
        found, value = records.field(row, options.by) if options.by else (True, None)
        key = json.dumps(value, sort_keys=True, ensure_ascii=False) if found else None
        groups.setdefault(key, []).append(row)
    answers = [answer(key, members, options) for key, members in groups.items()]
    answers.sort(key=order(options))
    shown = answers[: options.top]
    if options.format == "json":
        print(json.dumps({"groups": shown}, ensure_ascii=False))
    else:
        write_table(shown, options)
    if len(answers) > len(shown):
        print(f"group: {len(answers) - len(shown)} more groups are not listed", file=sys.stderr)


def arguments():
    parser = argparse.ArgumentParser(prog="group", description=__doc__, allow_abbrev=False)
    parser.add_argument("--by")
    parser.add_argument("--measure")
    parser.add_argument("--where", type=condition)
    parser.add_argument("--sort", choices=["count", "sum", "key"], default="count")
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("--format", choices=["table", "json"], default="table")
    options = parser.parse_args()
    if not 1 <= options.top <= 1000:
        parser.error("--top is a number from 1 to 1000")
    if options.sort == "sum" and not options.measure:
        parser.error("--sort sum needs --measure")
    return options


def condition(text):
    """Turns `FIELD OPERATOR VALUE` into a test of a record."""
    parts = CONDITION.match(text)
    if not parts:
        raise argparse.ArgumentTypeError(f"{text!r} is no condition; write FIELD OPERATOR VALUE")
    path, symbol, value = parts.groups()
    compare = OPERATORS[symbol]
    wanted = value if symbol == "~" else literal(value)

    def holds(row):
        found, held = records.field(row, path)
        if not found:
            return False
        comparable = records.is_number(held) and records.is_number(wanted) or type(held) is type(wanted)
        if not comparable:
            return False
        if symbol in ("=", "!="):
            return compare(held, wanted)
        return isinstance(held, (int, float, str)) and not isinstance(held, bool) and compare(held, wanted)

    return holds


def literal(text):
    """Reads a scalar of JSON, and takes everything else as text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, float) and not math.isfinite(value):
        return text
    return text if isinstance(value, (dict, list)) else value


def answer(key, members, options):
    """Says of one group what was asked."""
    entry = {}
    if options.by:
        entry[options.by] = None if key is None else json.loads(key)
        if key is None:
            entry["missing"] = True
    entry["count"] = len(members)
    if options.measure:
        values = [value for found, value in (records.field(row, options.measure) for row in members) if found]
        numbers = [value for value in values if records.is_number(value)]
        whole = all(isinstance(number, int) for number in numbers)
        total = sum(numbers) if whole else math.fsum(numbers)
        entry["sum"] = total
        entry["mean"] = total / len(numbers) if numbers else None
        entry["min"] = min(numbers, default=None)
        entry["max"] = max(numbers, default=None)
        if len(numbers) < len(members):
            entry["without_number"] = len(members) - len(numbers)
    return entry


def order(options):
    """Orders by what was asked, and by the key where that is equal."""
    def key_of(entry):
        value = entry.get(options.by)
        return (not records.is_number(value), value if records.is_number(value) else 0, records.show(value))

    if options.sort == "key":
        return key_of
    return lambda entry: (-entry[options.sort], key_of(entry))


def write_table(answers, options):
    columns = ([options.by] if options.by else []) + ["count"]
    if options.measure:
        columns += ["sum", "mean", "min", "max"]
    lines = [[cell(entry, column) for column in columns] for entry in answers]
    records.table(columns, lines, numeric={"count", "sum", "mean", "min", "max"})
    without = sum(entry.get("without_number", 0) for entry in answers)
    if without:
        print(f"group: {without} records hold no number in {options.measure}", file=sys.stderr)


def cell(entry, column):
    if column not in ("count", "sum", "mean", "min", "max") and entry.get("missing"):
        return "(missing)"
    value = entry[column]
    return "-" if value is None else records.show(value)


if __name__ == "__main__":
    records.run("group", main)
