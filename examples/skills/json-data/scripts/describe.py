"""Describes the fields of the records on stdin."""

import argparse
import json

import records


def main():
    parser = argparse.ArgumentParser(prog="describe", description=__doc__, allow_abbrev=False)
    parser.add_argument("--format", choices=["table", "json"], default="table")
    options = parser.parse_args()

    rows = records.read()
    seen = {}
    for row in rows:
        for path, value in records.fields(row):
            seen.setdefault(path, []).append(value)
    described = [describe(path, values, len(rows)) for path, values in seen.items()]

    if options.format == "json":
        print(json.dumps({"records": len(rows), "fields": described}, ensure_ascii=False))
        return
    print(f"{len(rows)} record{'s' if len(rows) != 1 else ''}")
    lines = [[entry["field"], ", ".join(entry["types"]), str(entry["missing"]), summary(entry)] for entry in described]
    records.table(["field", "types", "missing", "values"], lines, numeric={"missing"})


def describe(path, values, count):
    """Says of one field which types it has, how often it is missing, and what it holds."""
    entry = {
        "field": path,
        "types": sorted({records.kind(value) for value in values}),
        "missing": count - len(values),
    }
    numbers = [value for value in values if records.is_number(value)]
    if numbers and len(numbers) == len(values):
        entry["least"], entry["greatest"] = min(numbers), max(numbers)
    else:
        entry["distinct"] = len({json.dumps(value, sort_keys=True) for value in values})
    return entry


def summary(entry):
    if "least" in entry:
        return f"{records.show(entry['least'])} to {records.show(entry['greatest'])}"
    return f"{entry['distinct']} distinct"


if __name__ == "__main__":
    records.run("describe", main)
