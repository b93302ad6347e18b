"""Which column of a is compared with which of b, and which cannot be."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from skillian.data.declare.rules import EXACT, Rule, Rules
from skillian.data.query.binding import match_name
from skillian.data.results.rows import NotCompared
from skillian.data.schema.diff import pair_columns
from skillian.data.tables.cells import CellPair, NotComparableError, check_key, family_of
from skillian.data.tables.types import CellType
from skillian.errors import InvalidInputError, NamesValuesError, UnknownNameError, quoted

Columns = Mapping[str, CellType]


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """A column of a and its counterpart in b."""

    a: str
    b: str
    cells: CellPair

    @property
    def name(self) -> str:
        """The name for both: that of a."""
        return self.a

    def on(self, side: int) -> tuple[str, CellType]:
        """The name and the type of the column on side a (0) or b (1)."""
        return ((self.a, self.cells.a), (self.b, self.cells.b))[side]

    @property
    def is_exact(self) -> bool:
        """Whether only the same values are equal."""
        return self.cells.rule == EXACT


@dataclass(frozen=True, slots=True)
class Pairing:
    """The columns of two tables.

    Attributes:
        pairs: What can be compared, in the order of a.
        not_compared: Pairs without a common form.
        only_a: Columns without a counterpart in b.
        only_b: Columns without a counterpart in a.
        misplaced: Pairs whose own rule does not apply to their type.
        own: The rules for single columns, by their names in a.
        unread: Columns without a counterpart that cannot be read: 0 or 1 for the side, the name.
        chosen: The only columns that are compared, by their names in a; None for all. The key is
            taken from all columns.
    """

    pairs: tuple[ColumnPair, ...]
    not_compared: tuple[NotCompared, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    misplaced: tuple[ColumnPair, ...] = ()
    own: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    unread: frozenset[tuple[int, str]] = frozenset()
    chosen: frozenset[str] | None = None

    def with_key(self, names: Sequence[str]) -> Pairing:
        """The columns that are compared, those of the key first; raises as `key_pairs`."""
        key = key_pairs(self, names)
        known = {pair.a for pair in key}
        others = [pair for pair in self.pairs if pair.a not in known]
        if self.chosen is None:
            return replace(self, pairs=(*key, *others))
        pairs = (*key, *(pair for pair in others if pair.a in self.chosen))
        refused = tuple(each for each in self.not_compared if each.column in self.chosen)
        return replace(self, pairs=pairs, not_compared=refused, only_a=(), only_b=())

    def own_rule(self, pair: ColumnPair) -> Rule:
        """The rule for one column; exact if only rules for all apply to it."""
        return self.own.get(pair.a, EXACT)

    def lone(self, side: int) -> tuple[str, ...]:
        """The columns of a side that have no counterpart and can be read."""
        names = (self.only_a, self.only_b)[side] if self.chosen is None else ()
        return tuple(name for name in names if (side, name) not in self.unread)

    def find(self, name: str) -> ColumnPair:
        """The pair that a name of either side refers to; a's names have precedence.

        So have those of its columns that are not in a pair.
        """
        unpaired_a = (*(each.column for each in self.not_compared), *self.only_a)
        of_a = [pair.a for pair in self.pairs]
        is_of_b = match_name(name, (*of_a, *unpaired_a)) is None
        names = [pair.b for pair in self.pairs] if is_of_b else of_a
        match = match_name(name, names)
        if match is not None:
            return self.pairs[names.index(match)]
        for each in self.not_compared:
            if each.column.casefold() == name.casefold():
                refusals = (
                    f"column {quoted(name)} cannot be compared: {why}; {each.remedy}"
                    for why in (each.reason, each.without_values)
                )
                raise NamesValuesError(*refusals)
        for side, unpaired in (("b", self.only_a), ("a", self.only_b)):
            if match_name(name, unpaired) is not None:
                raise InvalidInputError(
                    f"column {quoted(name)} is not in {side}; if it has another name there, map it"
                )
        raise UnknownNameError("column", name, [pair.a for pair in self.pairs])

    def check(self, names: Iterable[str]) -> set[str]:
        """The names as the columns of either side are written.

        Raises:
            UnknownNameError: Neither side has such a column.
        """
        columns = {
            *(name for pair in self.pairs for name in (pair.a, pair.b)),
            *(each.column for each in self.not_compared),
            *self.only_a,
            *self.only_b,
        }
        matches: set[str] = set()
        for name in names:
            match = match_name(name, columns)
            if match is None:
                raise UnknownNameError("column", name, columns)
            matches.add(match)
        return matches

    def without(self, pair: ColumnPair, reason: str, brief: str) -> Pairing:
        """The columns without a pair that cannot be compared."""
        pairs = tuple(each for each in self.pairs if each != pair)
        refused = NotCompared(pair.a, "both", reason, brief)
        return replace(self, pairs=pairs, not_compared=(*self.not_compared, refused))


def paired(a: Columns, b: Columns, mapping: Mapping[str, str], rules: Rules) -> Pairing:
    """The columns of two tables; raises as `pair_columns`.

    Raises:
        UnknownNameError: A rule is for a column that neither table has.
        InvalidInputError: Two rules are for one column.
    """
    partners = pair_columns([*a], [*b], mapping)
    own = _own_rules(rules, a, b, partners)
    pairs: list[ColumnPair] = []
    refused: list[NotCompared] = []
    for name, other in partners.items():
        try:
            cells = _cells((a[name], b[other]), rules, own.get(name))
            pairs.append(ColumnPair(name, other, cells))
        except NotComparableError as reason:
            remedy = _remedy(name, a[name], b[other])
            refused.append(NotCompared(name, "both", str(reason), remedy=remedy))
    return Pairing(
        tuple(pairs),
        tuple(refused),
        tuple(name for name in a if name not in partners),
        tuple(name for name in b if name not in partners.values()),
        tuple(pair for pair in pairs if _is_misplaced(pair, own.get(pair.a))),
        own,
    )


def _remedy(name: str, *types: CellType) -> str:
    """How a column can be compared: as texts, or a text as the type of the other side."""
    kinds = {each.kind for each in types}
    has_text = "text" in kinds and kinds.isdisjoint({"nested", "other"})
    goal = next((each.sql for each in types if has_text and each.kind != "text"), "TEXT")
    column = name if name.isidentifier() else exp.to_identifier(name, quoted=True).sql()
    return (
        "to use it, convert it in the `query` of a declared source, such as by"
        f" CAST({column} AS {goal}) AS {column}"
    )


def _cells(types: tuple[CellType, CellType], rules: Rules, own: Rule | None) -> CellPair:
    family = family_of(*types)
    if {each.kind for each in types} == {"integer", "float"}:
        a, b = (replace(each, whole=each.kind == "float") for each in types)
        types = a, b
    return CellPair(*types, family, rules.of(family, own))


def _own_rules(
    rules: Rules, a: Columns, b: Columns, partners: Mapping[str, str]
) -> dict[str, Rule]:
    """The rules for columns by the name in a; names of a have precedence."""
    names = {other: name for name, other in partners.items()}
    own: dict[str, Rule] = {}
    for name, rule in rules.columns.items():
        column = match_name(name, a)
        if column is None:
            in_b = match_name(name, b)
            if in_b is None:
                raise UnknownNameError("column", name, {**a, **b})
            column = names.get(in_b)
        if column in own:
            raise InvalidInputError(f"there are two rules for column {quoted(column)}; state one")
        if column is not None:
            own[column] = rule
    return own


def _is_misplaced(pair: ColumnPair, rule: Rule | None) -> bool:
    """Whether a rule is for one column, and no part of it applies to the column's type."""
    if rule is None or rule == EXACT:
        return False
    return rule.within(pair.cells.family) == EXACT


def misplaced_rule(pair: ColumnPair, rules: Rules) -> InvalidInputError:
    """The error for a rule of which no part applies to the column's type."""
    stated = [
        rule
        for name, rule in rules.columns.items()
        if match_name(name, (pair.a, pair.b)) is not None
    ]
    words = ", ".join(rule.words() for rule in stated)
    family = pair.cells.family
    return InvalidInputError(
        f"the rule for column {quoted(pair.a)} ({words}) does not apply to its type,"
        f" which is {pair.cells.a.sql if family == 'other' else family}"
    )


def selected(
    pairing: Pairing, columns: Sequence[str] | None, ignore: Collection[str], keys: Sequence[str]
) -> Pairing:
    """The pairing without the columns to `ignore`, but with the keys; `columns` are chosen.

    Raises:
        UnknownNameError: A name is not a column of either side.
        InvalidInputError: A stated column cannot be compared.
    """
    key_names = {pairing.find(name).a for name in keys}
    dropped = pairing.check(ignore)
    chosen = None if columns is None else frozenset(pairing.find(name).a for name in columns)
    return replace(
        pairing,
        pairs=tuple(
            pair
            for pair in pairing.pairs
            if pair.a in key_names or dropped.isdisjoint((pair.a, pair.b))
        ),
        not_compared=tuple(each for each in pairing.not_compared if each.column not in dropped),
        only_a=tuple(name for name in pairing.only_a if name not in dropped),
        only_b=tuple(name for name in pairing.only_b if name not in dropped),
        chosen=chosen,
    )


def key_pairs(pairing: Pairing, names: Sequence[str]) -> tuple[ColumnPair, ...]:
    """The pairs of the key; raises `InvalidInputError` for one that cannot identify rows.

    Rules for all columns that compute do not apply to them: rows with different keys would meet.
    """
    pairs = tuple(dict.fromkeys(pairing.find(name) for name in names))
    for pair in pairs:
        if pairing.own_rule(pair).has_tolerance:
            raise InvalidInputError(
                f"{quoted(pair.a)} cannot be a key with a tolerance, because rows are matched by"
                " its values; leave the tolerance out, or name another column"
            )
        try:
            check_key(pair.cells)
        except NotComparableError as reason:
            raise InvalidInputError(
                f"{quoted(pair.a)} cannot be a key: {reason}; name another column"
            ) from None
    return tuple(_as_key(pair, pairing.own_rule(pair)) for pair in pairs)


def _as_key(pair: ColumnPair, own: Rule) -> ColumnPair:
    rule = pair.cells.rule.of_key(own.within(pair.cells.family))
    return replace(pair, cells=replace(pair.cells, rule=rule))


def left_out(
    pairs: Sequence[ColumnPair], a: Iterable[str], b: Iterable[str], mapping: Mapping[str, str]
) -> tuple[str, ...]:
    """The columns of both tables that are not among the pairs compared; a pair has one name."""
    partners = pair_columns([*a], [*b], mapping)
    known = {*(pair.b for pair in pairs), *partners.values()}
    compared = {pair.a for pair in pairs}
    return (
        *(name for name in a if name not in compared),
        *(name for name in b if name not in known),
    )


def of_two_engines(pairing: Pairing) -> Pairing:
    """The columns without the types that only one engine can compare with itself."""
    kept = tuple(pair for pair in pairing.pairs if pair.cells.family not in {"nested", "other"})
    refused = tuple(
        NotCompared(pair.a, "both", f"{pair.cells.a.sql} is written differently by each database")
        for pair in pairing.pairs
        if pair not in kept
    )
    return replace(pairing, pairs=kept, not_compared=(*pairing.not_compared, *refused))


def check_countable(pairing: Pairing) -> None:
    """Raise `InvalidInputError` for a column by whose values equal rows cannot be counted."""
    for pair in pairing.pairs:
        rule = pair.cells.rule
        if rule.has_tolerance:
            raise InvalidInputError(
                f"column {pair.a!r} has a tolerance, which needs a key: without one, rows are"
                " matched by their values; name a key, or leave the tolerance out"
            )
        try:
            check_key(pair.cells)
        except NotComparableError as reason:
            raise InvalidInputError(
                f"column {pair.a!r} cannot be compared without a key: {reason}; ignore it"
            ) from None
