"""What each test function costs, as `make test-times` has measured it.

A file of lines: the path of a test file, and under it, indented, a function with the number of its
items, the mean seconds of one (its share of the fixtures that it was the first to need included),
and words:

- `own`: it ran inside of the test's own process: it started no program and did not sleep.
- `property`: it tries as many examples as the profile of Hypothesis says. The seconds are those of
  the few that `make test` tries; `make test-all` tries four times as many.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple


class Cost(NamedTuple):
    """What a function costs: how many items, the mean seconds of one, and what is said of it."""

    items: int
    seconds: float
    is_own: bool = False
    is_property: bool = False

    def __str__(self) -> str:
        words = [str(self.items), f"{self.seconds:.3f}"]
        words += ["own"] if self.is_own else []
        words += ["property"] if self.is_property else []
        return " ".join(words)

    @classmethod
    def read(cls, text: str) -> Cost:
        """The cost that `str` has written."""
        items, seconds, *words = text.split()
        return cls(int(items), float(seconds), "own" in words, "property" in words)


Times = Mapping[str, Mapping[str, Cost]]
"""The costs of functions by their names, by the paths of files."""
FILE = Path("tests/times.txt")


def read_times(file: Path) -> dict[str, dict[str, Cost]]:
    """The recorded costs; none if there is no such file."""
    times: dict[str, dict[str, Cost]] = {}
    functions: dict[str, Cost] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        if line.startswith(" "):
            name, cost = line.split(maxsplit=1)
            functions[name] = Cost.read(cost)
        else:
            functions = times.setdefault(line, {})
    return times


def write_times(file: Path, times: Times) -> None:
    """Replace the file, sorted."""
    lines: list[str] = []
    for path, functions in sorted(times.items()):
        lines += [path, *(f"  {name} {cost}" for name, cost in sorted(functions.items()))]
    file.write_text("".join(f"{line}\n" for line in lines))


def function_of(id: str) -> tuple[str, str]:  # noqa: A002
    """The path and the name of an item's function."""
    path, _, name = id.partition("[")[0].partition("::")
    return path, name


def measured(results: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Cost]]:
    """The costs that results of items show (see `plugin.py`)."""
    by_function: defaultdict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for result in results:
        by_function[function_of(result["id"])].append(result)
    times: defaultdict[str, dict[str, Cost]] = defaultdict(dict)
    for (path, name), items in by_function.items():
        seconds = sum(item["seconds"] for item in items) / len(items)
        is_property = any(item["property"] for item in items)
        is_own = not any(item["outside"] for item in items)
        times[path][name] = Cost(len(items), seconds, is_own, is_property)
    return dict(times)


def renewed(old: Times, new: Times, *, exists: frozenset[str]) -> Times:
    """The old costs with those of new files in their places, without files that are gone."""
    return {path: costs for path, costs in {**old, **new}.items() if path in exists}
