"""Proposes the columns that identify a row, for a comparison without a stated key.

A sample of each side rules out most columns and combinations. The others are checked in turn in
all rows; what the comparison itself counts is the proof (`proven`). The first key by which most
rows meet is used, and none contains another one that identifies a side.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import combinations, groupby

from sqlglot import exp

from skillian.data import sql
from skillian.data.results.result import RowCounts
from skillian.data.results.rows import Proposal, TableKey
from skillian.data.tables.cells import NotComparableError, check_key
from skillian.data.tables.columns import ColumnPair, Pairing, key_pairs
from skillian.data.tables.place import SideRows
from skillian.data.tables.proposals import no_key, proposed_renames, renamed, renamed_key
from skillian.data.tables.types import transported
from skillian.errors import InvalidInputError
from skillian.tasks import together

SAMPLED_ROWS = 5000
_COMBINED = 8
_LARGEST = (4, 3, 2)
"""How many candidates of one, two and three columns are looked at."""
_PROPOSED = 4
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_KEY_WORDS = frozenset(
    {"id", "key", "code", "no", "nr", "num", "number", "uuid", "guid", "sku", "ref", "account"}
)
_AMOUNT_WORDS = frozenset(
    "amount amt price cost total sum qty quantity balance value rate".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class KeyCandidate:
    """Columns that may identify a row.

    Attributes:
        indexes: Which of the columns that can be part of a key.
        pairs: These columns.
        repeated: On which sides a key is repeated in the sample.
        nulls: In how many rows of the samples one of the columns has no value.
    """

    indexes: tuple[int, ...]
    pairs: tuple[ColumnPair, ...]
    repeated: tuple[bool, bool]
    nulls: int = 0

    @property
    def key(self) -> TableKey:
        """The key; its rows are not compared yet."""
        return _reasoned(tuple(pair.a for pair in self.pairs), "proposed", " in a sample")


@dataclass(frozen=True, slots=True)
class _Sample:
    """Rows of a side; `is_whole` says whether they are all of them."""

    rows: Sequence[tuple[object, ...]]
    is_whole: bool

    def is_repeated(self, indexes: Sequence[int]) -> bool:
        return self.distinct(indexes) < len(self.rows)

    def distinct(self, indexes: Sequence[int]) -> int:
        return len({tuple(row[index] for index in indexes) for row in self.rows})

    def repeated_values(self, index: int) -> int:
        counts = Counter(row[index] for row in self.rows)
        return sum(count > 1 for count in counts.values())

    def nulls(self, indexes: Sequence[int]) -> int:
        return sum(any(row[index] is None for index in indexes) for row in self.rows)


async def proposed_keys(
    pairing: Pairing, sides: tuple[SideRows, SideRows]
) -> AsyncGenerator[TableKey]:
    """Yield the keys that are likely to identify a row, the best first.

    Fewer columns precede more, those that identify the rows of both sides precede those of one
    side, columns without NULL precede others, and names such as `id` precede other names.

    Raises:
        InvalidInputError: No combination is unique, or a column that identifies a row seems to have
            another name on each side.
    """
    usable = _usable(pairing)
    samples = await together(*(_sample(side, index, usable) for index, side in enumerate(sides)))
    candidates: list[KeyCandidate] = []
    for size, most in enumerate(_LARGEST, start=1):
        unique = _candidates(usable, samples, size)
        # What contains another candidate is needed only if that is repeated.
        unique.sort(key=lambda each: _contains_one(each, candidates))
        candidates += unique[:most]
    count = 0
    async with aclosing(_unrepeated(_ordered(candidates, samples), samples, sides)) as likely:
        async for each in likely:
            if not count and any(map(_rank, each.pairs)):
                await _check_renames(pairing, sides)
            yield each.key
            count += 1
            if count == _PROPOSED:
                return
    if not count:
        renames = await _check_renames(pairing, sides)
        reasons = [*_repeats(usable, samples, sides), *_not_compared(pairing)]
        raise unidentified(pairing, [*reasons, *renamed(renames)])


async def _check_renames(
    pairing: Pairing, sides: tuple[SideRows, SideRows]
) -> tuple[Proposal, ...]:
    """The columns that may be renamed; raises `InvalidInputError` if one seems to be the key."""
    renames = await proposed_renames(pairing.only_a, pairing.only_b, sides)
    for each in renames:
        if each.is_unique and 0 in map(_name_rank, (each.a, each.b)):
            raise renamed_key(each)
    return renames


def _usable(pairing: Pairing) -> list[ColumnPair]:
    """The pairs that may be part of a key, which has no tolerance."""
    return [
        pair
        for pair in pairing.pairs
        if not pairing.own_rule(pair).has_tolerance and _is_usable(pair)
    ]


def _ordered(candidates: Sequence[KeyCandidate], samples: Sequence[_Sample]) -> list[KeyCandidate]:
    """The candidates, the best first; those that contain a better one are only tried after it."""
    good = [each for each in candidates if not _is_poor(each, samples)]
    return sorted(
        candidates,
        key=lambda each: (
            each not in good,
            _contains_one(each, good),
            len(each.pairs),
            sum(each.repeated),
            each.nulls > 0,
        ),
    )


def _is_poor(candidate: KeyCandidate, samples: Sequence[_Sample]) -> bool:
    """Whether most rows of a side share their key with another row."""
    return any(2 * sample.distinct(candidate.indexes) < len(sample.rows) for sample in samples)


def most_meet(rows: RowCounts) -> bool:
    """Whether no other key needs to be tried, because half of the smaller side's rows meet."""
    return 2 * rows.met >= min(rows.rows_a, rows.rows_b)


def primary_key(pairing: Pairing, sides: tuple[SideRows, SideRows]) -> TableKey | None:
    """The primary key of a, or else of b, if all of its columns can be compared."""
    for index, side in enumerate(sides):
        names = side.source.table.primary_key
        pairs = {(pair.a, pair.b)[index]: pair for pair in pairing.pairs}
        if names and all(name in pairs for name in names):
            columns = tuple(pairs[name].a for name in names)
            try:
                key_pairs(pairing, columns)
            except InvalidInputError:
                continue
            listed, verb = " and ".join(columns), "is" if len(columns) == 1 else "are"
            reason = f"No key was given; {listed} {verb} the primary key of {side.name}."
            return TableKey(columns, "catalogue", reason)
    return None


def proven(key: TableKey, rows: RowCounts, names: Sequence[str]) -> TableKey | None:
    """The key, a proposed one with its reason; None if that is repeated on both sides."""
    if key.origin != "profile":
        return key
    unique = [not rows.duplicate_keys_a, not rows.duplicate_keys_b]
    if not any(unique):
        return None
    where = "" if all(unique) else f" of {names[unique.index(True)]}"
    return _reasoned(key.columns, "used", where)


def _reasoned(columns: tuple[str, ...], use: str, where: str) -> TableKey:
    listed, verb = " and ".join(columns), "is" if len(columns) == 1 else "are"
    same = "the same value" if len(columns) == 1 else "the same values"
    reason = f"No key was given; {listed} {verb} {use}, because no two rows{where} have {same}."
    return TableKey(columns, "profile", reason)


def unidentified(pairing: Pairing, reasons: Sequence[str] = ()) -> InvalidInputError:
    """The error for tables without columns that identify a row."""
    names = ", ".join(pair.a for pair in _usable(pairing)) or "none"
    return no_key(
        "no key was given, and no column or combination of up to three identifies a row (usable"
        f" columns: {names})",
        reasons,
    )


def _repeats(
    pairs: Sequence[ColumnPair], samples: Sequence[_Sample], sides: Sequence[SideRows]
) -> Iterator[str]:
    """Yield how many values of each column that is nearly unique occur more than once."""
    for index, pair in enumerate(pairs):
        counts = [sample.repeated_values(index) for sample in samples]
        distinct = [sample.distinct((index,)) for sample in samples]
        if all(counts) and all(
            2 * n >= len(sample.rows) for n, sample in zip(distinct, samples, strict=True)
        ):
            least = ["" if sample.is_whole else "at least " for sample in samples]
            values, occur = ("value", "occurs") if counts[0] == 1 else ("values", "occur")
            yield (
                f"{least[0]}{counts[0]:,} {values} of {pair.a} {occur} more than once in"
                f" {sides[0].name} and {least[1]}{counts[1]:,} in {sides[1].name}"
            )


def _not_compared(pairing: Pairing) -> Iterator[str]:
    """Yield why columns with names of keys are not compared."""
    for each in pairing.not_compared:
        if _name_rank(each.column) == 0:
            yield f"{each.column} cannot be compared: {each.reason}"


def _is_usable(pair: ColumnPair) -> bool:
    cells = pair.cells
    if cells.family == "float" or (cells.a.scale or 0) + (cells.b.scale or 0):
        return False
    try:
        check_key(cells)
    except NotComparableError:
        return False
    return cells.family != "binary"


async def _sample(side: SideRows, index: int, pairs: Sequence[ColumnPair]) -> _Sample:
    if not pairs:
        return _Sample((), is_whole=True)
    rows = await side.first(dict(pair.on(index) for pair in pairs), SAMPLED_ROWS)
    return _Sample(rows, len(rows) < SAMPLED_ROWS)


def _candidates(
    pairs: Sequence[ColumnPair], samples: Sequence[_Sample], size: int
) -> list[KeyCandidate]:
    """The combinations that are unique in a sample, the most likely keys first."""
    distinct = [[sample.distinct((index,)) for sample in samples] for index in range(len(pairs))]
    order = sorted(
        range(len(pairs)), key=lambda index: (_rank(pairs[index]), -sum(distinct[index]), index)
    )
    if size > 1:
        varied = [index for index in order if max(distinct[index]) > 1]
        order = varied[: _COMBINED if size > 2 else 2 * _COMBINED]  # noqa: PLR2004 - see above
    chosen: list[KeyCandidate] = []
    for combination in combinations(order, size):
        indexes = tuple(sorted(combination))
        repeated = samples[0].is_repeated(indexes), samples[1].is_repeated(indexes)
        if not all(repeated):
            nulls = sum(sample.nulls(indexes) for sample in samples)
            columns = tuple(pairs[index] for index in indexes)
            chosen.append(KeyCandidate(indexes, columns, repeated, nulls))
    return chosen


def _contains_one(candidate: KeyCandidate, others: Sequence[KeyCandidate]) -> bool:
    return any(set(other.indexes) < set(candidate.indexes) for other in others)


def _rank(pair: ColumnPair) -> int:
    """How likely a column is part of a key: 0 is the most likely."""
    by_name = _name_rank(pair.a)
    if by_name is not None:
        return by_name
    return {"number": 1, "text": 1, "uuid": 0, "date": 1}.get(pair.cells.family, 2)


def _name_rank(name: str) -> int | None:
    """The same for a name; None if it says nothing."""
    words = [word.lower() for word in _WORD.findall(name)]
    if words and (words[-1] in _KEY_WORDS or words[0] in _KEY_WORDS):
        return 0
    return None if _AMOUNT_WORDS.isdisjoint(words) else 3


async def _unrepeated(
    candidates: Sequence[KeyCandidate], samples: Sequence[_Sample], sides: Sequence[SideRows]
) -> AsyncGenerator[KeyCandidate]:
    """Yield those that identify rows; of one size, those of both sides precede those of one."""
    of_one_side: list[KeyCandidate] = []
    for _, alike in groupby(candidates, key=lambda each: len(each.pairs)):
        later: list[KeyCandidate] = []
        for each in alike:
            if _contains_one(each, of_one_side):
                continue
            both = zip(samples, sides, (0, 1), strict=True)
            repeated = await together(*(_is_repeated(each, *one) for one in both))
            if not any(repeated):
                yield each
            elif not all(repeated):
                later.append(each)
        for each in later:
            yield each
        of_one_side += later


async def _is_repeated(
    candidate: KeyCandidate, sample: _Sample, side: SideRows, index: int
) -> bool:
    """Whether two rows of a side have the same key."""
    if sample.is_whole or candidate.repeated[index]:
        return candidate.repeated[index]
    columns = (pair.on(index) for pair in candidate.pairs)
    keys = [
        sql.named(transported(kind, side.value(name), side.connector.dialect).value, f"k{number}")
        for number, (name, kind) in enumerate(columns)
    ]
    count = exp.Count(this=exp.Star())
    groups = sql.select([sql.named(count, "n")], side.rows(keys), "keys")
    groups.group_by(*(sql.bare(each.alias) for each in keys), copy=False)
    groups.having(exp.GT(this=count.copy(), expression=sql.one()), copy=False)
    return bool(await side.fetch(groups.limit(1, copy=False)))
