"""Writes a changelog from the commits of a git repository."""

import argparse
import json
import re
import subprocess
import sys

HEADINGS = [
    ("breaking", "Breaking changes"),
    ("feat", "Features"),
    ("fix", "Fixes"),
    ("perf", "Performance"),
    ("docs", "Documentation"),
    ("other", "Other changes"),
]
KINDS = {"feature": "feat", "bugfix": "fix", "doc": "docs"}
CONVENTIONAL = re.compile(r"^(?P<kind>[A-Za-z]+)(?:\((?P<scope>[^()]+)\))?(?P<bang>!)?:\s+(?P<text>.+)$")
SCOPED = re.compile(r"^(?P<scope>[\w./,-]+):\s+(?P<text>.+)$")
KNOWN = {"build", "chore", "ci", "docs", "feat", "fix", "perf", "refactor", "revert", "style", "test"} | set(KINDS)
BREAKING = re.compile(r"^BREAKING[ -]CHANGE:", re.MULTILINE)
MAX_COMMITS = 10_000


class GitFailed(Exception):
    """Git said no, and why."""


def main():
    options = arguments()
    since = options.since or last_tag(options.repository, options.until)
    changes = [read(record) for record in history(options.repository, since, options.until)]
    if options.format == "json":
        print(json.dumps({"since": since, "until": options.until, "changes": changes}, ensure_ascii=False))
    else:
        print("\n".join(markdown(changes, since, options.until)))


def arguments():
    parser = argparse.ArgumentParser(prog="changelog", description=__doc__, allow_abbrev=False)
    parser.add_argument("repository")
    parser.add_argument("--since", type=revision)
    parser.add_argument("--until", type=revision, default="HEAD")
    parser.add_argument("--format", choices=["markdown", "json"], default="markdown")
    return parser.parse_args()


def revision(text):
    if not text or text.startswith("-") or ".." in text or any(char.isspace() for char in text):
        raise argparse.ArgumentTypeError(f"{text!r} is no single revision")
    return text


def git(repository, *command):
    """Runs a git command that only reads, without pager, prompt or lock."""
    argv = ["git", "--no-pager", "--no-optional-locks", "-C", repository, *command]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as error:
        raise GitFailed(f"git cannot be started: {error.strerror}") from error
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitFailed(lines[0] if lines else f"git ended with {done.returncode}")
    return done.stdout.decode("utf-8", "replace")


def last_tag(repository, until):
    """Returns the nearest tag before a revision, or nothing where history has none."""
    git(repository, "rev-parse", "--verify", "--end-of-options", f"{until}^{{commit}}")
    try:
        return git(repository, "describe", "--tags", "--abbrev=0", until).strip()
    except GitFailed:
        return None


def history(repository, since, until):
    """Returns the commits as (digest, subject, body), the newest first."""
    chosen = f"{since}..{until}" if since else until
    text = git(
        repository,
        "log",
        "--no-merges",
        "--no-show-signature",
        "--no-color",
        f"--max-count={MAX_COMMITS}",
        "--format=%h%x00%s%x00%b%x00%x00",
        "--end-of-options",
        chosen,
        "--",
    )
    records = [record.strip("\n") for record in text.split("\0\0\n")]
    return [record.split("\0", 2) for record in records if record]


def read(record):
    """Reads the kind, scope and text of a commit from its subject."""
    digest, subject, body = record
    subject = " ".join(subject.split())
    change = {"commit": digest, "kind": "other", "scope": None, "text": subject}
    parts = CONVENTIONAL.match(subject)
    if parts and parts["kind"].lower() in KNOWN:
        kind = parts["kind"].lower()
        change.update(kind=KINDS.get(kind, kind), scope=parts["scope"], text=parts["text"])
    elif SCOPED.match(subject):
        change.update(SCOPED.match(subject).groupdict())
        parts = None
    change["breaking"] = bool(parts and parts["bang"]) or bool(BREAKING.search(body))
    return change


def markdown(changes, since, until):
    named = "" if until == "HEAD" else f" up to {until}"
    lines = [f"# Changes since {since}{named}" if since else f"# All changes{named}"]
    known = {kind for kind, _ in HEADINGS}
    groups = {}
    for change in changes:
        kind = "breaking" if change["breaking"] else change["kind"]
        groups.setdefault(kind if kind in known else "other", []).append(change)
    for kind, heading in HEADINGS:
        if kind in groups:
            lines += ["", f"## {heading}", ""]
            lines += [line(change) for change in sorted(groups[kind], key=lambda change: change["scope"] or "")]
    if not changes:
        lines += ["", "Nothing changed."]
    return lines


def line(change):
    scope = f"**{change['scope']}**: " if change["scope"] else ""
    return f"- {scope}{change['text']} ({change['commit']})"


if __name__ == "__main__":
    try:
        main()
    except GitFailed as error:
        print(f"changelog: {error}", file=sys.stderr)
        sys.exit(1)
