"""A comparison decided: both sides bound, keys and measures made comparable, limits settled."""

from collections.abc import Sequence
from dataclasses import dataclass

from skillian.connectors.base import ColumnType
from skillian.data import sql
from skillian.data.binding import BoundSource, MeasureTerm, Term
from skillian.data.definitions import Thresholds
from skillian.data.exact import exact_measures
from skillian.data.filters import Condition, Filters
from skillian.data.measures import result_scale
from skillian.data.selection import conditions
from skillian.errors import InvalidInputError, QueryError


@dataclass(frozen=True, slots=True)
class Side:
    """One source of a comparison, its keys and measures in the order of the plan."""

    source: BoundSource
    keys: tuple[Term, ...]
    measures: tuple[MeasureTerm, ...]
    where: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class MeasurePlan:
    """What both sides share about one measure; values have `scale` digits after the point.

    With `has_code` a value may be NaN or infinite; `note` says how binary floats were taken.
    """

    name: str
    aggregation: str
    unit: str | None
    scale: int
    thresholds: Thresholds
    has_code: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """Everything that decides the answer; `parameters` holds the values the keys have bound."""

    a: Side
    b: Side
    align_on: tuple[str, ...]
    measures: tuple[MeasurePlan, ...]
    parameters: sql.Parameters


async def bound_side(
    source: BoundSource,
    align_on: Sequence[str],
    measures: Sequence[str],
    filters: Filters | None,
    parameters: sql.Parameters,
) -> Side:
    """Return one side; raises as `BoundSource`, `exact_measures` and `conditions` do."""
    where = conditions(source, filters)
    return Side(
        source=source,
        keys=tuple(source.dimension(name, parameters) for name in align_on),
        measures=await exact_measures(source, measures, where),
        where=where,
    )


def plan_comparison(
    a: Side, b: Side, thresholds: Sequence[Thresholds], parameters: sql.Parameters
) -> ComparisonPlan:
    """Return the plan for two sides with the same keys and measures.

    Raises `QueryError`, with the mend, where keys or measures cannot be compared.
    """
    keys = [_common_key(one, a, other, b) for one, other in zip(a.keys, b.keys, strict=True)]
    measures = tuple(
        _measure_plan(one, a, other, b, limits)
        for one, other, limits in zip(a.measures, b.measures, thresholds, strict=True)
    )
    return ComparisonPlan(
        a=Side(a.source, tuple(one for one, _ in keys), a.measures, a.where),
        b=Side(b.source, tuple(other for _, other in keys), b.measures, b.where),
        align_on=tuple(term.name for term in a.keys),
        measures=measures,
        parameters=parameters,
    )


def shared_keys(
    a: BoundSource, b: BoundSource, asked: Sequence[str] | None, default: Sequence[str]
) -> tuple[str, ...]:
    """Return what to align on: what was asked, else those defaults that both sources have."""
    both = common_names(a, b)
    if asked is None:
        asked = [name for name in default if name in both]
    if not asked:
        raise InvalidInputError(
            f"name what to align {a.name} and {b.name} on; they share: {', '.join(both) or 'none'}"
        )
    return tuple(dict.fromkeys(asked))


def common_names(a: BoundSource, b: BoundSource) -> tuple[str, ...]:
    """Return the dimensions that both sources have."""
    return tuple(name for name in a.definition.dimensions if name in b.definition.dimensions)


def _common_key(one: Term, a: Side, other: Term, b: Side) -> tuple[Term, Term]:
    if one.type.kind != other.type.kind:
        raise QueryError(
            f"{one.name!r} is {one.type.sql} in {a.source.name} and {other.type.sql} in"
            f" {b.source.name}; declare the same `type` for the dimension {one.name!r} of both,"
            " such as `type: text`, and `normalise` or `values` where they are written differently"
        )
    scale = max(one.type.scale, other.type.scale)
    return _widened(one, other.type, scale), _widened(other, one.type, scale)


def _widened(term: Term, other: ColumnType, scale: int) -> Term:
    """Return the term in a type that holds both sides' numbers; whole ones meet as they are."""
    if term.type.kind != "decimal" or term.type == other:
        return term
    return Term(term.name, sql.decimal(term.value, scale), ColumnType(term.type.kind, "", scale))


def _measure_plan(
    one: MeasureTerm, a: Side, other: MeasureTerm, b: Side, thresholds: Thresholds
) -> MeasurePlan:
    if one.definition.aggregation != other.definition.aggregation:
        raise QueryError(
            f"{one.name!r} is {one.definition.aggregation} in {a.source.name} and"
            f" {other.definition.aggregation} in {b.source.name}; declare the same `aggregation`"
        )
    units = {one.definition.unit, other.definition.unit} - {None}
    if len(units) > 1:
        raise QueryError(
            f"{one.name!r} is in {one.definition.unit} in {a.source.name} and in"
            f" {other.definition.unit} in {b.source.name}; declare an `expression` that converts"
        )
    return MeasurePlan(
        name=one.name,
        aggregation=one.definition.aggregation,
        unit=one.definition.unit or other.definition.unit,
        scale=max(_scale(one, a), _scale(other, b)),
        thresholds=thresholds,
        has_code=one.has_code or other.has_code,
        note=_note([(one, a), (other, b)]),
    )


def _note(sides: Sequence[tuple[MeasureTerm, Side]]) -> str:
    floats = [f"{term.float_type} in {side.source.name}" for term, side in sides if term.float_type]
    if not floats:
        return ""
    return (
        f"{sides[0][0].name} is a binary float ({', '.join(floats)}): each value counts as the"
        " shortest decimal that reads back as it, and these are added up exactly."
    )


def _scale(term: MeasureTerm, side: Side) -> int:
    try:
        return result_scale(term)
    except QueryError as error:
        raise QueryError(f"source {side.source.name}: {error}") from None
