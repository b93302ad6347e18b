"""Proposes the columns that identify a row, for a comparison without a stated key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from sqlglot import exp

from skillian.data import sql
from skillian.data.tables.cells import NotComparableError, check_key
from skillian.data.tables.columns import ColumnPair
from skillian.data.tables.place import SideRows
from skillian.data.tables.results import TableKey
from skillian.data.tables.transport import transported
from skillian.errors import InvalidInputError

_SAMPLED_ROWS = 5000
_COMBINED = 8
_MOST_COLUMNS = 3
_VERIFIED = 8
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_KEY_WORDS = frozenset(
    {"id", "key", "code", "no", "nr", "num", "number", "uuid", "guid", "sku", "ref", "account"}
)
_AMOUNT_WORDS = frozenset(
    {
        "amount",
        "amt",
        "price",
        "cost",
        "total",
        "sum",
        "qty",
        "quantity",
        "balance",
        "value",
        "rate",
    }
)

_Candidate = tuple[ColumnPair, ...]


async def proposed_key(pairs: Sequence[ColumnPair], sides: Sequence[SideRows]) -> TableKey:
    """Return the columns that identify a row on both sides, or on one of them.

    A sample of each side rules out most columns and combinations of up to three; the values of the
    others are counted on all rows, the most likely first: names such as `id` precede others, and
    fewer columns precede more.

    Raises:
        InvalidInputError: No combination is unique.
    """
    usable = [pair for pair in pairs if _is_usable(pair)]
    samples = [await _sample(side, index, usable) for index, side in enumerate(sides)]
    best: TableKey | None = None
    for size in range(1, _MOST_COLUMNS + 1):
        for candidate in _candidates(usable, samples, size):
            unique = [await _is_unique(side, index, candidate) for index, side in enumerate(sides)]
            if all(unique):
                return _key(candidate, "")
            if any(unique) and best is None:
                best = _key(candidate, f" of {sides[unique.index(True)].name}")
    if best is not None:
        return best
    names = ", ".join(pair.a for pair in usable) or "none"
    raise InvalidInputError(
        "no key was given, and no column or combination of up to three identifies a row (usable"
        f" columns: {names}); name the columns of the `key`, or compare rows by how often each"
        " occurs (`multiset`)"
    )


def _key(candidate: _Candidate, where: str) -> TableKey:
    names = tuple(pair.a for pair in candidate)
    listed, verb = " and ".join(names), "is" if len(names) == 1 else "are"
    same = "the same value" if len(names) == 1 else "the same values"
    reason = f"No key was given; {listed} {verb} used, because no two rows{where} have {same}."
    return TableKey(names, "profile", reason)


def _is_usable(pair: ColumnPair) -> bool:
    cells = pair.cells
    if cells.family == "float" or (cells.a.scale or 0) + (cells.b.scale or 0):
        return False
    try:
        check_key(cells)
    except NotComparableError:
        return False
    return cells.family != "binary"


def _value(pair: ColumnPair, side: SideRows, index: int) -> exp.Expr:
    name, kind = ((pair.a, pair.cells.a), (pair.b, pair.cells.b))[index]
    return transported(kind, sql.column(name, "source"), side.connector.dialect).value


async def _sample(
    side: SideRows, index: int, pairs: Sequence[ColumnPair]
) -> list[tuple[object, ...]]:
    if not pairs:
        return []
    columns = [sql.named(_value(pair, side, index), f"c{n}") for n, pair in enumerate(pairs)]
    rows = await side.fetch(side.rows(columns).limit(_SAMPLED_ROWS, copy=False))
    return [tuple(row.values()) for row in rows]


def _candidates(
    pairs: Sequence[ColumnPair], samples: Sequence[Sequence[tuple[object, ...]]], size: int
) -> list[_Candidate]:
    """Return the combinations that are unique in a sample, the most likely keys first."""
    distinct = [_distinct(samples, (index,)) for index in range(len(pairs))]
    order = sorted(
        range(len(pairs)), key=lambda index: (_rank(pairs[index]), -sum(distinct[index]), index)
    )
    if size > 1:
        varied = [index for index in order if max(distinct[index], default=0) > 1]
        order = varied[: _COMBINED if size > 2 else 2 * _COMBINED]  # noqa: PLR2004 - see above
    sizes = [len(rows) for rows in samples]
    chosen: list[_Candidate] = []
    for indexes in combinations(order, size):
        counts = _distinct(samples, indexes)
        if any(count == total for count, total in zip(counts, sizes, strict=True)):
            in_order = sorted(indexes)
            chosen.append(tuple(pairs[index] for index in in_order))
    return chosen[:_VERIFIED]


def _distinct(samples: Sequence[Sequence[tuple[object, ...]]], indexes: Sequence[int]) -> list[int]:
    return [len({tuple(row[index] for index in indexes) for row in rows}) for rows in samples]


def _rank(pair: ColumnPair) -> int:
    """Return how likely a column is part of a key: 0 is the most likely."""
    words = [word.lower() for word in _WORD.findall(pair.a)]
    if words and (words[-1] in _KEY_WORDS or words[0] in _KEY_WORDS):
        return 0
    if not _AMOUNT_WORDS.isdisjoint(words):
        return 3
    return {"number": 1, "text": 1, "uuid": 0, "date": 1}.get(pair.cells.family, 2)


async def _is_unique(side: SideRows, index: int, candidate: _Candidate) -> bool:
    """Return whether no two rows of the side have the same values."""
    total = side.rows([exp.Count(this=exp.Star())])
    columns = [
        sql.named(_value(pair, side, index), f"c{place}") for place, pair in enumerate(candidate)
    ]
    keys = side.rows(columns).distinct(copy=False).subquery(sql.name("keys"), copy=False)
    distinct = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(keys, copy=False)
    counts = {"total": total, "keys": distinct}
    select = exp.Select(
        expressions=[sql.named(exp.Subquery(this=count), name) for name, count in counts.items()]
    )
    [row] = await side.fetch(select)
    return int(row["keys"]) == int(row["total"])
