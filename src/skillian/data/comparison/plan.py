"""From a question to its plan: both sides bound, all limits decided; and the proof of a result."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from skillian.connectors.base import ColumnType
from skillian.data import sql
from skillian.data.declare.definitions import Thresholds
from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import SourceRegistry
from skillian.data.query.binding import Binder, BoundSource, MeasureTerm, Term
from skillian.data.query.dimensions import moment
from skillian.data.query.filters import Condition, Filters, check_order, conditions
from skillian.data.query.measures import exact_measures, result_scale
from skillian.data.query.unfit import described, is_empty, misfits
from skillian.errors import InvalidInputError, QueryError

Relations = Mapping[str, exp.Query]
"""Named steps of a statement, in order; the last is `groups`."""


@dataclass(frozen=True, slots=True)
class Side:
    """One source of a comparison, its keys and measures in the order of the plan."""

    source: BoundSource
    keys: tuple[Term, ...]
    measures: tuple[MeasureTerm, ...]
    where: tuple[Condition, ...]

    @property
    def key_values(self) -> dict[str, exp.Expr]:
        """The value of each part of the key, by the name of its column."""
        return {f"key_{index}": term.value for index, term in enumerate(self.keys)}


@dataclass(frozen=True, slots=True)
class MeasurePlan:
    """The common properties of a measure on both sides; values have `scale` decimal places.

    With `has_code` a value may be NaN or infinite; `note` says how binary floats are read.
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
    """Everything that determines the result; `parameters` holds the bound values of the keys."""

    a: Side
    b: Side
    align_on: tuple[str, ...]
    measures: tuple[MeasurePlan, ...]
    parameters: sql.BoundValues


def key_columns(plan: ComparisonPlan) -> list[exp.Expr]:
    """The key columns, which have the same names in all relations."""
    return [sql.bare(f"key_{index}") for index in range(len(plan.align_on))]


async def bound_side(
    source: BoundSource,
    align_on: Sequence[str],
    measures: Sequence[str],
    filters: Filters | None,
    parameters: sql.BoundValues,
) -> Side:
    """One side; raises as `BoundSource`, `exact_measures` and `conditions` do."""
    where = conditions(source, filters)
    return Side(
        source=source,
        keys=tuple(source.dimension(name, parameters) for name in align_on),
        measures=await exact_measures(source, measures, where),
        where=where,
    )


def plan_comparison(
    a: Side, b: Side, thresholds: Sequence[Thresholds], parameters: sql.BoundValues
) -> ComparisonPlan:
    """The plan for two sides with the same keys and measures.

    Raises `QueryError`, with the fix, if keys or measures cannot be compared.
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
    a: BoundSource, b: BoundSource, names: Sequence[str] | None, default: Sequence[str]
) -> tuple[str, ...]:
    """The dimensions of the key: `names`, or the defaults that both sources have."""
    both = common_names(a, b)
    if names is None:
        names = [name for name in default if name in both]
    if not names:
        raise InvalidInputError(
            f"name the dimensions to group {a.name} and {b.name} by; they share:"
            f" {', '.join(both) or 'none'}"
        )
    return tuple(dict.fromkeys(names))


def common_names(a: BoundSource, b: BoundSource) -> tuple[str, ...]:
    """The dimensions that both sources have."""
    return tuple(name for name in a.definition.dimensions if name in b.definition.dimensions)


def common_columns(
    a: BoundSource, b: BoundSource
) -> Iterator[tuple[str, str | None, str | None, str]]:
    """Yield the name, the columns and the aggregation of what both sources declare.

    A dimension has no aggregation, and a measure with an expression no column.
    """
    for kind in ("dimensions", "measures"):
        others = getattr(b.definition, kind)
        for name, one in getattr(a.definition, kind).items():
            if name in others:
                columns = a.column_of(one.column), b.column_of(others[name].column)
                yield name, *columns, getattr(one, "aggregation", "")


def _common_key(one: Term, a: Side, other: Term, b: Side) -> tuple[Term, Term]:
    """Both terms in a type that holds the values of both sides; a date is midnight."""
    kinds = {one.type.kind, other.type.kind}
    if kinds == {"date", "timestamp"}:
        one, other = (Term(each.name, *moment(each.value, each.type)) for each in (one, other))
        return one, other
    if kinds <= {"integer", "decimal"}:
        scale = max(one.type.scale, other.type.scale)
        return _widened(one, other.type, scale), _widened(other, one.type, scale)
    if len(kinds) > 1:
        raise QueryError(
            f"{one.name!r} is {one.type.sql} in {a.source.name} and {other.type.sql} in"
            f" {b.source.name}; declare the same `type` for the dimension {one.name!r} of both,"
            " such as `type: text`, and `normalise` or `values` if they are written differently"
        )
    return one, other


def _widened(term: Term, other: ColumnType, scale: int) -> Term:
    """The term in a type that holds the numbers of both sides."""
    if other.kind == term.type.kind == "integer" or term.type == other:
        return term
    return Term(term.name, sql.decimal(term.value, scale), ColumnType("decimal", "", scale))


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
        " shortest decimal that reads back as the same float, and these are added exactly."
    )


def _scale(term: MeasureTerm, side: Side) -> int:
    try:
        return result_scale(term)
    except QueryError as error:
        raise QueryError(f"source {side.source.name}: {error}") from None


async def with_same_types(a: Side, b: Side) -> tuple[Side, Side]:
    """Both sides; a text key without any value gets the type of the other side.

    This allows comparing a file that has only a header. In a file, a key is often text because of
    one bad value: raises `QueryError` with the values that cannot be read in the other type.
    """
    pairs = list(zip(a.keys, b.keys, strict=True))
    keys_a = [await _typed(a, one, b, other) for one, other in pairs]
    keys_b = [await _typed(b, other, a, one) for one, other in pairs]
    return replace(a, keys=tuple(keys_a)), replace(b, keys=tuple(keys_b))


async def _typed(side: Side, term: Term, other: Side, like: Term) -> Term:
    goal = _goal(like.type)
    if term.type.kind != "text" or goal is None or side.source.connector.dialect != "duckdb":
        return term
    source = side.source
    if await is_empty(source, term.value):
        kind = exp.DataType.build(goal.sql, dialect="duckdb")
        return Term(term.name, exp.cast(term.value.copy(), kind), goal)
    values = await misfits(source, term.value, goal)
    if values:
        examples = await described(source, term.value, values)
        raise QueryError(
            f"{term.name!r} is {like.type.sql} in {other.source.name}, but in {source.name} it also"
            f" holds {examples}. Correct these values, or declare in a sources.yaml the same"
            f" `type` for the dimension {term.name!r} of both, such as `type: text`"
        )
    return term


def _goal(like: ColumnType) -> ColumnType | None:
    if like.kind == "decimal":
        return ColumnType("decimal", f"DECIMAL(38,{like.scale})", like.scale)
    name = sql.DUCKDB_TYPES.get(like.kind)
    return None if name is None else ColumnType(like.kind, name)


# Part of every cache key: increase it when the same question could get another answer.
ENGINE_VERSION = 3


class Planner:
    """Turns questions into plans; the registry has the defaults of a comparison."""

    def __init__(self, registry: SourceRegistry, binder: Binder) -> None:
        self._registry = registry
        self._binder = binder

    async def bind(self, question: SavedComparison) -> tuple[BoundSource, BoundSource]:
        """Both sources bound to their databases; raises as `Binder.bind` does."""
        a = await self._binder.bind(question.a)
        return a, await self._binder.bind(question.b)

    async def plan(
        self, question: SavedComparison, sources: tuple[BoundSource, BoundSource]
    ) -> ComparisonPlan:
        """The plan; raises as `MeasureEngine.asked` does."""
        measures = tuple(dict.fromkeys(question.measures))
        if not measures:
            raise InvalidInputError("name at least one measure to compare")
        settings = self._registry.comparison
        keys = shared_keys(*sources, question.align_on, settings.default_align_on)
        pair = frozenset((question.a, question.b))
        limits = [
            question.thresholds.over(settings.thresholds_for(pair, name)).settled()
            for name in measures
        ]
        parameters = sql.BoundValues()
        sides = [
            await bound_side(each, keys, measures, question.filters, parameters) for each in sources
        ]
        await check_order(*((side.source, side.where) for side in sides))
        return plan_comparison(*await with_same_types(*sides), limits, parameters)

    def cache_key(self, plan: ComparisonPlan, top: int) -> str:
        """A digest of everything that determines the result."""
        sides = [
            {
                "name": side.source.name,
                "url": self._registry.declared_url(side.source.definition.connection),
                "definition": side.source.definition.model_dump(mode="json"),
                "columns": {name: kind.sql for name, kind in side.source.columns.items()},
                "filters": [condition.to_dict() for condition in side.where],
            }
            for side in (plan.a, plan.b)
        ]
        question = {
            "engine": ENGINE_VERSION,
            "top": top,
            "sides": sides,
            "align_on": plan.align_on,
            "measures": [
                (measure.name, measure.thresholds.model_dump(mode="json"))
                for measure in plan.measures
            ],
        }
        return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()


def unused_dimensions(plan: ComparisonPlan) -> tuple[str, ...]:
    """The dimensions that both sources have and the key does not contain."""
    shared = common_names(plan.a.source, plan.b.source)
    return tuple(name for name in shared if name not in plan.align_on)
