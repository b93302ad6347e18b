"""How the columns of two tables are paired, and which of them identify a row."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace

from sqlglot import exp

from skillian.connectors.base import TEXTS, text_column
from skillian.data import sql
from skillian.data.declare.saved import SavedComparison
from skillian.data.query.binding import BoundSource, match_name
from skillian.data.query.filters import by_side, check_order, filtered_side
from skillian.data.query.unfit import what_text_holds
from skillian.data.results.rows import NotCompared, Side, TableKey
from skillian.data.schema.diff import SchemaDiff, compare_schemas, distinct_names, pair_columns
from skillian.data.tables.columns import (
    ColumnPair,
    Pairing,
    check_countable,
    key_pairs,
    misplaced_rule,
    of_two_engines,
    paired,
    selected,
)
from skillian.data.tables.keys import primary_key, proposed_keys
from skillian.data.tables.place import SideRows, null_of
from skillian.data.tables.types import CellType, cell_type
from skillian.errors import InvalidInputError, NamesValuesError, UnreadableColumnError, quoted

_REASONS = 3


async def paired_sides(
    question: SavedComparison, sources: Sequence[BoundSource]
) -> tuple[Pairing, tuple[SideRows, SideRows]]:
    """The pairs of columns, and the rows of both sides that the filters keep.

    Raises:
        ToolError: A name is wrong, or columns cannot be compared as the question says.
    """
    names = pair_columns([*sources[0].columns], [*sources[1].columns], question.names_in_b)
    sides = _sides(question, sources, names)
    await check_order(*((side.source, side.where) for side in sides))
    return await _pairing(question, sides)


def check_names(question: SavedComparison, sources: Sequence[BoundSource]) -> None:
    """Check the names and the filters of a question, without a statement.

    Raises:
        ToolError: A name is wrong, or a filter does not fit its column.
    """
    columns = [*sources[0].columns], [*sources[1].columns]
    sides = _sides(question, sources, pair_columns(*columns, question.names_in_b))
    a, b = ({name: side.type_of(name) for name in side.source.columns} for side in sides)
    pairing = paired(a, b, question.names_in_b, question.rules)
    pairing = _with_forbidden(pairing, sides, question.names_in_b)
    refused = [each.column for each in pairing.not_compared]  # which values may make comparable
    pairing.check(name for name in (*question.accepted_columns, *question.ignore) if name != "*")
    for name in (*question.key, *(question.chosen_columns or ())):
        if match_name(name, refused) is None:
            pairing.find(name)


def _sides(
    question: SavedComparison, sources: Sequence[BoundSource], names: Mapping[str, str]
) -> tuple[SideRows, SideRows]:
    """The rows that the filters keep; b's columns may have other names."""
    tests = by_side(question.filters, [*sources[0].columns, *sources[1].columns])
    translated = {_name_in_b(name, sources, names): test for name, test in tests[""].items()}
    a = filtered_side(sources[0], tests[""], tests["a"], "a")
    b = filtered_side(sources[1], translated, tests["b"], "b")
    values = sql.BoundValues()
    return SideRows(*a, values), SideRows(*b, values)


def _name_in_b(name: str, sources: Sequence[BoundSource], names: Mapping[str, str]) -> str:
    """The name in b of a column of a filter, by the partners of a's columns.

    Raises `InvalidInputError` if b's column of this name is mapped to another column of a.
    """
    other = names.get(name, name)
    if other.casefold() != name.casefold():
        return other
    mine, theirs = (_column_of(source, name) for source in sources)
    owner = next((one for one, known in names.items() if known == theirs), mine)
    if theirs and owner and owner != mine and owner.casefold() != theirs.casefold():
        raise InvalidInputError(
            f"column {quoted(theirs)} of b is compared with {quoted(owner)} of a; filter by"
            f" {quoted(owner)}, or by a column of one side: {quoted(f'a.{name}')} or"
            f" {quoted(f'b.{name}')}"
        )
    return name if name in sources[1].definition.dimensions else other


def _column_of(source: BoundSource, name: str) -> str | None:
    declared = source.definition.dimensions.get(name)
    return source.column_of(name if declared is None else declared.column)


async def _pairing(
    question: SavedComparison, sides: tuple[SideRows, SideRows]
) -> tuple[Pairing, tuple[SideRows, SideRows]]:
    """The pairs of columns.

    The key is taken from all columns, also if only some are compared.

    A column without any value fits every type. A column of a text file, whose types are only found
    from its values, is compared with a text of a database as it is written; a text of a file with a
    number, a time or a boolean, if all of the column are.
    """
    columns = [{name: side.type_of(name) for name in side.source.columns} for side in sides]
    dialects = sides[0].connector.dialect, sides[1].connector.dialect
    partners = pair_columns([*columns[0]], [*columns[1]], question.names_in_b)
    instead: list[dict[str, exp.Expr]] = [{}, {}]
    pairing = paired(columns[0], columns[1], question.names_in_b, question.rules)
    for refused in pairing.not_compared:
        names = refused.column, partners[refused.column]
        for index, (side, name) in enumerate(zip(sides, names, strict=True)):
            kind = columns[1 - index][names[1 - index]]
            fitted = await _fitted(name, kind, side, sides[1 - index])
            if fitted is not None:
                instead[index][name], columns[index][name] = fitted
                break
    if any(instead):
        pairing = paired(columns[0], columns[1], question.names_in_b, question.rules)
    for pair in pairing.misplaced:
        if not await _is_empty_in_a_file(pair, sides):
            raise misplaced_rule(pair, question.rules)
    pairing = await _explained(pairing, partners, sides)
    pairing = _with_forbidden(pairing, sides, question.names_in_b)
    pairing.check(name for name in question.accepted_columns if name != "*")
    pairing = selected(pairing, question.chosen_columns, question.ignore, question.key)
    if dialects[0] != dialects[1]:
        pairing = of_two_engines(pairing)
    return pairing, (_reading(sides[0], instead[0]), _reading(sides[1], instead[1]))


def _reading(side: SideRows, instead: Mapping[str, exp.Expr]) -> SideRows:
    """The rows with other values in place of columns, such as the texts of a file."""
    side = replace(side, instead=instead)
    if not side.read_as(text=True):
        return side
    relation = sql.relation(replace(side.source.table, schema=TEXTS), "source")
    return replace(side, source=replace(side.source, relation=relation))


async def _fitted(
    name: str, kind: CellType, side: SideRows, other: SideRows
) -> tuple[exp.Expr, CellType] | None:
    """What a column is read as to be compared with one of this type; None if it is not."""
    own = side.type_of(name)
    if not await side.has_values(name):
        return null_of(kind, (side.connector.dialect, other.connector.dialect)), kind
    if kind.kind == "text" and side.source.table.is_text and not other.source.table.inferred:
        # Of two files whose types are found from values, options may read the texts of one.
        written = sql.column(text_column(name), "source")
        return exp.cast(written, "TEXT"), CellType("text", "VARCHAR")
    if own.kind == "text" and (found := await side.type_written(name, kind.kind)):
        return exp.cast(side.value(name), found.sql, dialect="duckdb"), cell_type(found, "duckdb")
    return None


def without_unread(
    error: UnreadableColumnError, pairing: Pairing, sides: Sequence[SideRows], key: Sequence[str]
) -> Pairing:
    """The columns without one that cannot be read; raises the error if it is needed."""
    keys = {pairing.find(name) for name in key}
    for index, side in enumerate(sides):
        is_own = not error.source and side.source.table.name == error.table
        if error.source == side.name or is_own:
            if error.column in pairing.lone(index):
                return replace(pairing, unread=pairing.unread | {(index, error.column)})
            for pair in pairing.pairs:
                if (pair.a, pair.b)[index] != error.column:
                    continue
                if pair in keys:
                    raise error.of_key()
                brief = f"{side.name} holds a value that is not of its type"
                return pairing.without(pair, f"{side.name} {error.reason}", brief)
    raise error


async def _explained(
    pairing: Pairing, partners: Mapping[str, str], sides: tuple[SideRows, SideRows]
) -> Pairing:
    """Add to each refused text the values because of which it is not of the other side's type.

    If there are none, the reason says how it can be compared.
    """
    refused: list[NotCompared] = []
    for each in pairing.not_compared:
        names = each.column, partners[each.column]
        kinds = [side.source.columns[name] for side, name in zip(sides, names, strict=True)]
        reason = each.reason
        for index, side in enumerate(sides):
            if kinds[index].kind == "text":
                value, kind = side.value(names[index]), kinds[1 - index].kind
                holds = await what_text_holds(side.source, value, kind)
                reason += f"; {side.name} holds {holds}" if holds else ""
        if reason == each.reason:
            reason = f"{reason}; {each.remedy}"
            refused.append(replace(each, reason=reason, remedy="or leave it out"))
        else:
            refused.append(replace(each, reason=reason, brief=each.without_values))
    return replace(pairing, not_compared=tuple(refused))


def _with_forbidden(
    pairing: Pairing, sides: tuple[SideRows, SideRows], mapping: Mapping[str, str]
) -> Pairing:
    """Add the columns that may not be read on one of the sides, each with its counterpart."""
    tables = [side.source.table for side in sides]
    forbidden = [table.forbidden for table in tables]
    a, b = ([*table.columns, *names] for table, names in zip(tables, forbidden, strict=True))
    partners = pair_columns(a, b, mapping)
    names_in_a = {other: one for one, other in partners.items()}
    pairs: list[tuple[str | None, str | None]]
    pairs = [(name, partners.get(name)) for name in forbidden[0]]
    pairs += [(names_in_a.get(name), name) for name in forbidden[1]]
    refused = dict.fromkeys(pairs)  # a column that neither side may read is in both
    return replace(
        pairing,
        only_a=tuple(name for name in pairing.only_a if (name, partners.get(name)) not in refused),
        only_b=tuple(
            name for name in pairing.only_b if (names_in_a.get(name), name) not in refused
        ),
        not_compared=(
            *pairing.not_compared,
            *(_forbidden(pair, sides, forbidden) for pair in refused),
        ),
    )


def _forbidden(
    pair: tuple[str | None, str | None],
    sides: Sequence[SideRows],
    forbidden: Sequence[Collection[str]],
) -> NotCompared:
    """A column that may not or cannot be read on one side or on both."""
    refused = [
        (side, name)
        for side, name, names in zip(sides, pair, forbidden, strict=True)
        if name is not None and name in names
    ]
    where = [side.name for side, _ in refused]
    side: Side = "b" if pair[0] is None else "a" if pair[1] is None else "both"
    for source, name in refused:
        if reason := source.source.table.declared[name].unreadable:
            column = pair[0] or name
            return NotCompared(
                column, side, f"in {source.name}, {reason}", remedy="or leave it out"
            )
    reason = f"there is no right to read it in {' and '.join(dict.fromkeys(where))}"
    remedy = "ask for the right to SELECT it, or leave it out"
    return NotCompared(pair[0] or pair[1] or "", side, reason, remedy=remedy)


async def _is_empty_in_a_file(pair: ColumnPair, sides: Sequence[SideRows]) -> bool:
    """Whether a file has no value in a column, which then fits every rule."""
    for side, name in zip(sides, (pair.a, pair.b), strict=True):
        if side.source.table.inferred and not await side.has_values(name):
            return True
    return False


def schema_of(
    question: SavedComparison, sides: tuple[SideRows, SideRows], pairing: Pairing
) -> SchemaDiff:
    """The schemas of both sides, as far as the question is about their columns."""
    ignored = set(question.ignore)
    if question.chosen_columns is not None:
        names = {name for pair in pairing.pairs for name in (pair.a, pair.b)}
        ignored |= {name for side in sides for name in side.source.columns if name not in names}
    # They are named among those that are not compared.
    ignored |= {name for side in sides for name in side.source.table.forbidden}
    diff = compare_schemas(
        sides[0].source.table,
        sides[1].source.table,
        {one: other for one, other in question.names_in_b.items() if one not in ignored},
        ignored,
        names=distinct_names((question.a, question.b)),
    ).accepting(question.accepted_columns)
    # A file does not say the type of a column, with values or without.
    a, b = (
        side.instead.keys() if side.source.table.inferred else frozenset[str]() for side in sides
    )
    kept = [
        each
        for each in diff.differences
        if each.aspect != "type" or not (each.column_a in a or each.column_b in b)
    ]
    return replace(diff, differences=tuple(kept))


async def keys_of(
    question: SavedComparison, pairing: Pairing, sides: tuple[SideRows, SideRows]
) -> AsyncGenerator[TableKey]:
    """Yield the key, or the keys that are proposed, the best first."""
    compared = pairing.with_key(())
    if not compared.pairs:
        raise _no_pairs(pairing, sides)
    if question.multiset:
        if question.key:
            raise InvalidInputError("a comparison without a key takes no key columns")
        check_countable(compared)
        reason = "Rows are compared without a key, with how often each occurs."
        yield TableKey((), "none", reason)
    elif question.key:
        names = tuple(pair.a for pair in key_pairs(pairing, question.key))
        yield TableKey(names, "given", "")
    elif (catalogued := primary_key(pairing, sides)) is not None:
        yield catalogued
    else:
        async with aclosing(proposed_keys(pairing, sides)) as keys:
            async for key in keys:
                yield key


def _no_pairs(pairing: Pairing, sides: Sequence[SideRows]) -> NamesValuesError:
    """The error for tables without a pair: types that have no common form, or else the names."""
    names = f"{sides[0].name} and {sides[1].name}"
    refused = pairing.not_compared[:_REASONS]
    listed = (
        f"columns: {_listed(sides[0])}, and {_listed(sides[1])}; if two belong together,"
        " map one to the other"
    )
    whole, brief = (
        f"{names} have no column in common that can be compared; {'; '.join(reasons) or listed}"
        for reasons in (
            [f"{each.column}: {each.reason}" for each in refused],
            [f"{each.column}: {each.without_values}" for each in refused],
        )
    )
    return NamesValuesError(whole, brief)


def _listed(side: SideRows) -> str:
    return ", ".join([*side.source.columns][:20]) or "none"
