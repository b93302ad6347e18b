"""Proposes which columns may be one that was renamed, also where a key is missing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from skillian.data.results.rows import Proposal, map_options, option_name
from skillian.data.tables.cells import NotComparableError, family_of
from skillian.data.tables.place import SideRows
from skillian.errors import NamesValuesError, UnreadableColumnError

_SAMPLED_ROWS = 1000
_MOST_COLUMNS = 50
_SIMILAR_NAME = 75
_SIMILAR_VALUES = 0.5
_WAYS_ON = "name the columns of the `key`, or compare rows by how often each occurs (`multiset`)"


def no_key(problem: str, reasons: Sequence[str] = ()) -> NamesValuesError:
    """The error for tables without columns that identify a row; `reasons` may name values."""
    whole, brief = (
        f"{'; '.join(parts)}; {_WAYS_ON}" for parts in ((problem, *reasons), (problem,))
    )
    return NamesValuesError(whole, brief)


async def proposed_renames(
    only_a: Sequence[str], only_b: Sequence[str], sides: tuple[SideRows, SideRows]
) -> tuple[Proposal, ...]:
    """Pairs of columns that may be the same, the most similar first.

    Two columns are proposed if their types can be compared, and their names are similar or at least
    half of the distinct values in a sample of either side are in both. Nothing is proposed if a
    column cannot be read.
    """
    names = only_a[:_MOST_COLUMNS], only_b[:_MOST_COLUMNS]
    if not all(names):
        return ()
    from rapidfuzz import fuzz, utils  # noqa: PLC0415 - few tables have such columns

    try:
        samples = [
            await _sample(side, side_names) for side, side_names in zip(sides, names, strict=True)
        ]
    except UnreadableColumnError:
        return ()
    rated: list[tuple[float, Proposal]] = []
    for a in names[0]:
        for b in names[1]:
            if _are_comparable(sides, a, b):
                similarity = fuzz.WRatio(a, b, processor=utils.default_process)
                values = samples[0][a], samples[1][b]
                shared = _overlap({*values[0]}, {*values[1]})
                if similarity >= _SIMILAR_NAME or shared >= _SIMILAR_VALUES:
                    rated.append((similarity / 100 + 2 * shared, _proposal(a, b, values, shared)))
    taken: set[str] = set()
    chosen: list[Proposal] = []
    for _, proposal in sorted(rated, key=lambda each: (-each[0], each[1].a, each[1].b)):
        if f"a {proposal.a}" not in taken and f"b {proposal.b}" not in taken:
            taken |= {f"a {proposal.a}", f"b {proposal.b}"}
            chosen.append(proposal)
    return tuple(chosen)


def renamed_key(pair: Proposal) -> NamesValuesError:
    """The error for a column that identifies a row and has another name on each side."""
    key = f"{map_options([(pair.a, pair.b)])} --key {shlex.quote(option_name(pair.a))}"
    return no_key(
        "no key was given, and the column that identifies a row seems to have another name on each"
        f" side: add {key} ({pair.reason})"
    )


def renamed(pairs: Sequence[Proposal]) -> Iterator[str]:
    """Yield how to pair columns that may be the same, for a message."""
    if pairs:
        reasons = ", ".join(f"{each.a} and {each.b}: {each.reason}" for each in pairs)
        options = map_options((each.a, each.b) for each in pairs)
        yield f"columns may have other names in b ({reasons}), so add {options}"


def _proposal(
    a: str, b: str, values: tuple[Sequence[str], Sequence[str]], shared: float
) -> Proposal:
    words = f"{shared:.0%} of the values in a sample are in both".replace("%", " %")
    is_unique = shared >= _SIMILAR_VALUES and all(len({*each}) == len(each) for each in values)
    return Proposal(a, b, words if shared else "the names are similar", is_unique)


def _are_comparable(sides: tuple[SideRows, SideRows], a: str, b: str) -> bool:
    try:
        family_of(sides[0].type_of(a), sides[1].type_of(b))
    except NotComparableError:
        return False
    return True


def _overlap(a: set[str], b: set[str]) -> float:
    """The share of the smaller set that is also in the other one."""
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


async def _sample(side: SideRows, names: Sequence[str]) -> dict[str, list[str]]:
    """The values of columns in the first rows, as text."""
    rows = await side.first({name: side.type_of(name) for name in names}, _SAMPLED_ROWS)
    return {
        name: [str(row[index]) for row in rows if row[index] is not None]
        for index, name in enumerate(names)
    }
