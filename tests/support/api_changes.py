"""Compares the public names with those of the last release: part of `make check`.

A public name (docs/stability.md) that was added, removed, or changed in a way that breaks programs
since the last tag must be in CHANGELOG.md above the heading of that release. What breaks
programs is griffe's definition (https://mkdocstrings.github.io/griffe/guide/users/checking/).

    python tests/support/api_changes.py [FOLDER]   # a clone; by default this one
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import griffe

_ROW = re.compile(r"^\| `(tinyagent[.\w]*)` \| (?:stable|provisional) \| (.+) \|$", re.MULTILINE)


def main() -> None:
    """Exit with the changes that the changelog does not name."""
    root = Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parents[2]).resolve()
    tag = _git(root, "describe", "--tags", "--abbrev=0", "--match", "v*").strip()
    if not tag:
        print("No release has a tag yet: there is no public API to compare with.")  # noqa: T201
        return
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased = changelog.partition(f"\n## {tag.removeprefix('v')}")[0]
    changes = list(_changes(root, tag))
    untold = [
        f"  {name}: {what}"
        for name, what in changes
        if not re.search(rf"`{name.rpartition('.')[2]}\b", unreleased)
    ]
    if untold:
        head = f"Public names changed since {tag}; tell it in CHANGELOG.md, with `name`:"
        sys.exit("\n".join([head, *untold]))
    print(f"Public names since {tag}: {len(changes)} changes, all in CHANGELOG.md.")  # noqa: T201


def _changes(root: Path, tag: str) -> Iterator[tuple[str, str]]:
    before = _public(_git(root, "show", f"{tag}:docs/stability.md"))
    now = _public((root / "docs" / "stability.md").read_text(encoding="utf-8"))
    yield from ((name, "added") for name in sorted(now - before))
    yield from ((name, "removed") for name in sorted(before - now))
    old = griffe.load_git("tinyagent", ref=tag, repo=root, search_paths=["src"])
    new = griffe.load("tinyagent", search_paths=[root / "src"])
    for name in sorted(before & now):
        inside = name.removeprefix("tinyagent.")
        for breakage in griffe.find_breaking_changes(old[inside], new[inside]):
            yield name, breakage.explain(griffe.ExplanationStyle.ONE_LINE)


def _public(table: str) -> set[str]:
    """The public names of docs/stability.md, with their modules."""
    return {
        f"{module}.{name}"
        for module, names in _ROW.findall(table)
        for name in re.findall(r"`(\w+)`", names)
    }


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    return done.stdout


if __name__ == "__main__":
    main()
