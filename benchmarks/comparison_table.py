"""The figures of a contest as Markdown, and whether the differences are correct."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from comparison_cases import Contest, Way
from comparison_turns import Go, turns
from places import Place

STATUSES = ("match", "minor_diff", "major_diff", "missing_in_a", "missing_in_b")
MISSED = "missed"


def table(rows: int, contests: Iterable[Contest], place: Place) -> Iterator[str]:
    """Measure, and give the lines."""
    columns = "CPU | of it PostgreSQL | memory | ratio | target | found"
    yield f"\n| {rows:,} postings a side | {columns} |"
    yield "|---|--:|--:|--:|--:|--:|---|"
    truth = json.loads((place.folder / "truth.json").read_text())
    for contest in contests:
        print(f"measuring {contest.title} ...", file=sys.stderr, flush=True)
        goes = turns(contest, place)
        least = [min(seconds) for seconds in zip(*_seconds(contest, goes), strict=True)]
        yield f"| **{contest.title}** | | | | | | |"
        for way, gone in goes.items():
            found = {verdict(go.found, truth[contest.truth]) for go in gone}
            yield _line(way, gone, least, "; ".join(sorted(found)))


def verdict(found: dict[str, Any], truth: dict[str, dict[str, Any]]) -> str:
    """How what was found stands to the truth; "-" where nothing was looked for."""
    if not found:
        return "-"
    expected = _expected(truth)
    doubled = expected["doubled"]
    as_rows = {
        "different": expected["different"] - doubled,
        "missing_in_a": expected["missing_in_a"] + doubled,
    }
    unseen = {"different": expected["different"] - doubled}
    for words, other in (
        ("exact", {}),
        ("double loads as new rows", as_rows),
        ("double loads not found", unseen),
    ):
        if found == {name: (expected | other)[name] for name in found}:
            return words
    return f"wrong, {MISSED}: {json.dumps(found)}"


def _expected(truth: dict[str, dict[str, Any]]) -> dict[str, Any]:
    groups = {status: truth.get(status, {}).get("groups", 0) for status in STATUSES}
    differing = [each for status, each in truth.items() if status != "match"]
    return {
        **groups,
        "different": groups["minor_diff"] + groups["major_diff"],
        "net": str(sum(Decimal(each["net"]) for each in truth.values())),
        "gross": str(sum(Decimal(each["gross"]) for each in truth.values())),
        "doubled": sum(each["doubled"] for each in differing),
        "docs": {status: each["docs"] for status, each in truth.items() if status != "match"},
    }


def _seconds(contest: Contest, goes: dict[Way, list[Go]]) -> Iterator[list[float]]:
    for floor in contest.floors:
        yield [go.seconds for go in goes[floor]]


def _line(way: Way, goes: Sequence[Go], floors: Sequence[float], found: str) -> str:
    """One way; `floors` are the seconds of the cheapest floor in each round."""
    ratios = [go.seconds / floor for go, floor in zip(goes, floors, strict=False)]
    ratio, peak = statistics.median(ratios), max(go.peak for go in goes)
    spread = f" ({min(ratios):.2f} to {max(ratios):.2f})" if len(ratios) > 1 else ""
    targets = []
    if way.target is not None:
        targets.append(f"<= {way.target:g}{_missed(ratio > way.target)}")
    if way.memory is not None:
        targets.append(f"< {way.memory} MB{_missed(peak >= way.memory)}")
    cells = (
        way.title,
        f"{statistics.median(go.seconds for go in goes):,.2f} s",
        f"{statistics.median(go.server for go in goes):,.2f} s",
        f"{peak:,.0f} MB",
        f"{ratio:.2f}{spread}",
        ", ".join(targets) or "-",
        found,
    )
    return f"| {' | '.join(cells)} |"


def _missed(is_missed: bool) -> str:  # noqa: FBT001 - its only argument
    return f", {MISSED}" if is_missed else ""
