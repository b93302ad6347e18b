"""Follows pages as a newcomer, in fresh environments, and says how long each takes.

`make newcomer` runs it. A fresh clone is installed with pip into a fresh environment, by the
commands that the page gives and with the newest dependencies. The blocks of the page are then
pasted into an empty folder, one after the other (tests/e2e/test_pages.py). Pages with the same
commands share an environment.

    python tests/support/newcomer.py                                 # all pages, on this Python
    python tests/support/newcomer.py --python 3.11 --python 3.13     # on these
    python tests/support/newcomer.py README.md docs/tutorials        # some pages
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

# A program of its own, in any environment: `tests` is found from the root.
sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.support.pages import PAGES, ROOT, blocks_of, installs, name_of
from tests.support.pythons import find, from_debian

TEST = "tests/e2e/test_pages.py::test_who_pastes_the_blocks_of_a_page_sees_what_it_says"


class Row(NamedTuple):
    """What happened to one page."""

    python: str
    page: str
    blocks: int
    installed: float
    seconds: float
    result: str


def main() -> int:
    """Follow the pages; 0 if all work."""
    options = argparse.ArgumentParser(description="Pages in fresh environments; see the docstring.")
    options.add_argument("--python", action="append", metavar="VERSION", help="for example 3.13")
    options.add_argument("pages", nargs="*", default=["README.md", "docs"])
    given = options.parse_args()
    own = "{}.{}".format(*sys.version_info)
    rows: list[Row] = []
    for version in given.python or [own]:
        rows += _follow_all(version, list(_chosen(given.pages)))
    _show(rows)
    return int(any(row.result != "ok" for row in rows))


def _chosen(names: list[str]) -> Iterator[Path]:
    for page in PAGES:
        is_named = any(page == ROOT / name or ROOT / name in page.parents for name in names)
        if is_named and any(block.is_run for block in blocks_of(page)):
            yield page


def _follow_all(version: str, pages: Iterable[Path]) -> Iterator[Row]:
    """Follow pages on one Python, those with the same commands together."""
    python = find(version) or from_debian(version)
    by_commands: defaultdict[tuple[str, ...], list[Path]] = defaultdict(list)
    for page in pages:
        by_commands[installs(page)].append(page)
    for commands, together in by_commands.items():
        with tempfile.TemporaryDirectory(prefix="tinyagent-newcomer-") as name:
            started = time.monotonic()
            programs = _install(Path(name), python, commands)
            installed = time.monotonic() - started
            for page in together:
                yield _follow(version, page, programs, installed)


def _install(folder: Path, python: Path, commands: Iterable[str]) -> Path:
    """The programs of an environment with what is installed from a fresh clone."""
    clone, environment = folder / "tinyagent", folder / "environment"
    _run("git", "clone", "-q", str(ROOT), str(clone), folder=folder)
    _run(str(python), "-m", "venv", str(environment), folder=folder)
    for command in commands:
        pip, *arguments = shlex.split(command)
        _run(str(environment / "bin" / pip), "-q", *arguments, folder=clone)
    return environment / "bin"


def _follow(version: str, page: Path, programs: Path, installed: float) -> Row:
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "", f"{TEST}[{name_of(page)}]"],
        cwd=ROOT,
        env=os.environ | {"READER_BIN": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )
    blocks = sum(block.is_run for block in blocks_of(page))
    result = "failed" if done.returncode else "ok"
    row = Row(version, name_of(page), blocks, installed, time.monotonic() - started, result)
    sys.stderr.write(f"{row}\n{done.stdout if done.returncode else ''}")
    return row


def _run(*command: str, folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def _show(rows: list[Row]) -> None:
    head = (
        "| Python | page | blocks | installation | pasting | result |",
        f"|---|---{'|--:' * 3}|---|",
    )
    lines = [
        f"| {row.python} | {row.page} | {row.blocks} | {row.installed:.0f} s | {row.seconds:.0f} s"
        f" | {row.result} |"
        for row in rows
    ]
    good = [row for row in rows if row.result == "ok"]
    count = f"{sum(row.blocks for row in good)} of {sum(row.blocks for row in rows)}"
    total = f"{count} blocks of {len(rows)} pages in {sum(row.seconds for row in rows):.0f} s"
    sys.stdout.write("\n".join([*head, *lines, "", total, ""]))


if __name__ == "__main__":
    sys.exit(main())
