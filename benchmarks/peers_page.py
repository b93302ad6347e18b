"""`make bench-peers`: measures tinyagent and skillian beside other tools, and writes the page.

Each part runs a benchmark of this folder as a process. The page, `docs/peers.md`, is what they
print, with the machine, the date and the commands; where others do better is read from the tables.
"""

from __future__ import annotations

import datetime as dt
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "peers.md"
SECONDS = 7200.0
COMPARED = {
    "CPU",
    "CPU s",
    "memory",
    "peak MB",
    "a session and its first step",
    "a step",
    "a loop, times plain CPython",
}
OURS = ("tinyagent", "skillian", "ISOLATED", "LOCAL", "SANDBOXED")
FIGURE = re.compile(r"[\d,]+(?:\.\d+)?")
INTRODUCTION = """# Benchmarks beside other tools

`make bench-peers` measures everything on this page and writes it again; the command of each part
stands beside it. Each tool runs in an environment of its own with pinned versions; the runs of one
table alternate, so that other work on the machine slows all of them. Read the ratios, not the
times. The last section lists every figure of another tool that is lower than ours. More figures,
with targets and history, are in [results](../benchmarks/results.md).
"""


class Part(NamedTuple):
    """A benchmark: what its tables are about, how it is run, and how our row begins."""

    title: str
    about: str
    command: tuple[str, ...]
    ours: str


PARTS = (
    Part(
        "Overhead of an agent",
        "Ten tool turns against a mock server on loopback, as a ratio to the vendor's own client in"
        " the same environment; then ten steps of a code agent beside smolagents, whose executor"
        " does not confine the code.",
        ("run.py", "--peers"),
        "tinyagent",
    ),
    Part(
        "Code in a sandbox",
        "A new session with its first step, one more step, and a loop in pure Python compared with"
        " plain CPython.",
        ("executor_table.py",),
        "ISOLATED",
    ),
    Part(
        "Whole tables",
        "One million rows and twelve columns of mixed types, with a thousandth of the cells"
        " altered. The SQL by hand is written for the case and reports the same.",
        ("tables.py",),
        "skillian",
    ),
    Part(
        "TPC-H lineitem",
        "Six million rows in two Parquet files, by their key. The SQL by hand is a direct join that"
        " knows that the key is unique.",
        ("lineitem.py", "--peers"),
        "skillian",
    ),
)


class Table(NamedTuple):
    """A table as it was printed: its header, and its rows in groups."""

    header: Sequence[str]
    groups: Sequence[tuple[str, Sequence[Sequence[str]]]]


def main() -> None:
    """Measure all parts, or those whose title holds a word of the command line; write the page."""
    chosen = [part for part in PARTS if all(word in part.title for word in sys.argv[1:])]
    lines = [INTRODUCTION, _machine(), ""]
    losses: list[str] = []
    for part in chosen:
        printed = _output(part)
        losses += _losses(part, printed)
        command = f"python benchmarks/{' '.join(part.command)}"
        lines += [f"## {part.title}", "", f"{part.about} `{command}`", "", printed, ""]
    lines += ["## Where others do better", "", *losses]
    text = "\n".join(lines) + "\n"
    if len(chosen) == len(PARTS):
        PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


def _machine() -> str:
    today = dt.datetime.now(dt.UTC).date()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return (
        f"Measured on {today}: {os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GiB,"
        f" {platform.system()} {platform.release().partition('-')[0]}, CPython"
        f" {platform.python_version()}. The load averages were {load} when it began."
    )


def _output(part: Part) -> str:
    """The tables that the benchmark prints; a missed target makes it exit with 1."""
    script, *words = part.command
    done = subprocess.run(
        [sys.executable, str(HERE / script), *words],
        stdout=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode not in {0, 1} or "|---" not in done.stdout:
        sys.exit(f"{script} failed with exit code {done.returncode}")
    kept = [line for line in done.stdout.splitlines() if not line.endswith(("missed.", "met."))]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _losses(part: Part, printed: str) -> Iterator[str]:
    """A line for each figure of another tool that is lower than ours."""
    for table in _tables(printed):
        if "smolagents" in table.header:  # a column for each tool
            for name, ours, theirs, *_ in table.groups[0][1]:
                if _figure(theirs) < _figure(ours):
                    yield f"- {table.header[0]}, {name}: {ours}; smolagents {theirs}."
            continue
        for group, rows in table.groups:
            for number, column in enumerate(table.header):
                if column in COMPARED:
                    where = f"{group or table.header[0]}, {column}"
                    yield from _better(where, part.ours, [(row[0], row[number]) for row in rows])


def _better(where: str, our_name: str, cells: Sequence[tuple[str, str]]) -> Iterator[str]:
    ours = next((cell for name, cell in cells if name.startswith(our_name)), "")
    found = [
        f"{name} {cell}"
        for name, cell in cells
        if not name.startswith(OURS) and 0 < _figure(cell) < _figure(ours)
    ]
    if found:
        yield f"- {where}: {our_name} {ours}; {'; '.join(found)}."


def _tables(printed: str) -> Iterator[Table]:
    for block in re.split(r"\n\s*\n", printed):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        if len(lines) < 3:
            continue
        groups: list[tuple[str, list[list[str]]]] = [("", [])]
        for cells in map(_cells, lines[2:]):
            if cells[0].startswith("**"):
                groups.append((cells[0].strip("*"), []))
            else:
                groups[-1][1].append(cells)
        yield Table(_cells(lines[0]), groups)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _figure(cell: str) -> float:
    found = FIGURE.search(cell)
    return float(found[0].replace(",", "")) if found else 0.0


if __name__ == "__main__":
    main()
