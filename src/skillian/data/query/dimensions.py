"""From a declared dimension to the SQL of its value.

No step makes two different values equal by accident. A cast that would round or cut is refused: at
once if the types show it, otherwise by the statement for the first such value.
"""

from sqlglot import exp

from skillian.connectors.base import ColumnType, Kind
from skillian.connectors.dialects import MOMENT_PATTERN
from skillian.data import sql
from skillian.data.declare.definitions import DECIMAL, LPAD, Dimension
from skillian.errors import QueryError

_DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_INTEGER_PATTERN = "^[+-]?[0-9]+$"
_TARGETS: dict[str, tuple[Kind, str]] = {
    "text": ("text", "TEXT"),
    "integer": ("integer", "BIGINT"),
    "boolean": ("boolean", "BOOLEAN"),
    "date": ("date", "DATE"),
    "timestamp": ("timestamp", "TIMESTAMP"),
}
UNSCALED = "numeric"
"""PostgreSQL's type of numbers whose values may have any scale."""
# Types of DuckDB with other fractions of a second than microseconds.
_FINER: dict[str, str] = {
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
    "TIMESTAMP_NS": "TIMESTAMP",
    "TIMESTAMPTZ_NS": "TIMESTAMPTZ",
}


class DimensionBuilder:
    """Builds the value of one dimension."""

    def __init__(self, definition: Dimension, parameters: sql.BoundValues) -> None:
        self._definition = definition
        self._parameters = parameters

    def build(self, column: exp.Expr, kind: ColumnType) -> tuple[exp.Expr, ColumnType]:
        """The SQL and type of the value; raises `QueryError` for an impossible type."""
        value = column
        if kind.sql in _FINER and self._definition.type not in {"text", "date"}:
            value, kind = _microseconds(value, kind)
        if kind.sql == UNSCALED and self._definition.type is not None:
            value, kind = sql.as_text(value), ColumnType("text", "TEXT")  # which has all digits
        if self._definition.normalise or self._definition.values:
            value, kind = _text(value, kind), ColumnType("text", "TEXT")
            for step in self._definition.normalise:
                value = self._normalise(value, step)
            value = self._mapped(value)
        if self._definition.type is not None:
            return self._typed(value, kind, self._definition.type)
        if kind.sql == '"NULL"':  # of Parquet, without any value
            return sql.as_text(value), ColumnType("text", "VARCHAR")
        if kind.kind in {"float", "other"}:
            is_number = kind.kind == "float" or kind.sql == UNSCALED
            fix = "decimal(18,2)" if is_number else "text"
            raise QueryError(f"its column is {kind.sql}, which is not exact; declare `type: {fix}`")
        return (_text(value, kind) if kind.kind == "text" else value), kind

    def _normalise(self, value: exp.Expr, step: str) -> exp.Expr:
        if step == "trim":
            return exp.Trim(this=value, expression=sql.text(" "))  # no other white space
        if step == "upper":
            return sql.uppered(value)
        padding = LPAD.fullmatch(step)
        if padding is None:
            return exp.Normalize(this=value, form=exp.var("NFC"))
        # LPAD cuts longer texts, which would make different keys equal.
        case = "CASE WHEN LENGTH(v) >= width THEN v ELSE LPAD(v, width, fill) END"
        width, fill = exp.Literal.number(int(padding["width"])), sql.text(padding["fill"])
        return sql.template(case, v=value, width=width, fill=fill)

    def _mapped(self, value: exp.Expr) -> exp.Expr:
        if not self._definition.values:
            return value
        case = exp.Case(this=value)
        for stored, logical in self._definition.values.items():
            case = case.when(self._parameters.bind(stored), self._parameters.bind(logical))
        return case.else_(value.copy())

    def _typed(self, value: exp.Expr, kind: ColumnType, target: str) -> tuple[exp.Expr, ColumnType]:
        match = DECIMAL.fullmatch(target)
        if match:
            goal = ColumnType("decimal", target.upper(), int(match["scale"]))
            return _to_decimal(value, kind, goal), goal
        goal = ColumnType(*_TARGETS[target])
        if target == "text" and self._definition.format:
            if kind.kind not in {"date", "timestamp", "timestamptz"}:
                raise QueryError(f"`format` writes dates and timestamps; its column is {kind.sql}")
            pattern = exp.Literal.string(self._definition.format)
            return exp.TimeToStr(this=value, format=pattern), goal
        if target == "text":
            return _text(value, kind), goal
        if target == "integer":
            return _to_integer(value, kind), goal
        if target in {"date", "timestamp"}:
            return self._to_time(value, kind, goal), goal
        return (value if kind.kind == "boolean" else exp.cast(value, goal.sql)), goal

    def _to_time(self, value: exp.Expr, kind: ColumnType, goal: ColumnType) -> exp.Expr:
        if kind.kind in {"date", "timestamp", "timestamptz"}:
            return _as_time(value, kind, goal)
        if self._definition.format and kind.kind in {"text", "integer"}:
            pattern = exp.Literal.string(self._definition.format)
            return exp.cast(exp.StrToTime(this=_text(value, kind), format=pattern), goal.sql)
        if kind.kind != "text":
            raise QueryError(f"its column is {kind.sql}; declare a `format` to read it")
        return _guarded(value, _DAY if goal.kind == "date" else MOMENT_PATTERN, goal.sql)


def moment(value: exp.Expr, kind: ColumnType) -> tuple[exp.Expr, ColumnType]:
    """The SQL and the type of a date or a timestamp as a timestamp."""
    goal = ColumnType(*_TARGETS["timestamp"])
    return _as_time(value, kind, goal), goal


def _as_time(value: exp.Expr, kind: ColumnType, goal: ColumnType) -> exp.Expr:
    """A time in this type; one with a zone is converted to UTC."""
    if kind.kind == goal.kind:
        return value
    value = value.copy()
    value.type = exp.DataType.build(kind.kind)  # so that the dialect does not parse it as text
    return exp.cast(value, goal.sql)


def _microseconds(value: exp.Expr, kind: ColumnType) -> tuple[exp.Expr, ColumnType]:
    """A time in microseconds; the statement fails with a value that is finer."""
    goal = _FINER[kind.sql]
    cut = exp.cast(value.copy(), goal)
    again = exp.cast(cut.copy(), exp.DataType.build(kind.sql, dialect="duckdb", udt=True))
    message = exp.Literal.string(" is finer than microseconds; declare `type: text`")
    failing = exp.DPipe(this=exp.cast(value.copy(), "TEXT"), expression=message)
    case = exp.case().when(exp.EQ(this=again, expression=value.copy()), cut)
    written = "TIMESTAMP" if goal == "TIMESTAMP" else "TIMESTAMP WITH TIME ZONE"
    return case.else_(exp.cast(failing, goal)), ColumnType(kind.kind, written)


def _text(value: exp.Expr, kind: ColumnType) -> exp.Expr:
    if kind.kind == "float":
        raise QueryError(f"its column is {kind.sql}; declare `type: decimal(18,2)` and no steps")
    if kind.kind in {"timestamp", "timestamptz"}:
        value = value.copy()
        value.type = exp.DataType.build(kind.kind)  # each dialect writes them in the same form
    if kind.kind == "decimal":
        value = value.copy()
        value.type = exp.DataType.build(f"DECIMAL({sql.MAX_DIGITS}, {kind.scale})")
    return value if kind.sql == "TEXT" else sql.as_text(value)


def _to_integer(value: exp.Expr, kind: ColumnType) -> exp.Expr:
    if kind.kind == "integer":
        return value
    if kind.kind == "text":
        return _guarded(value, _INTEGER_PATTERN, "BIGINT")
    if kind.kind == "boolean":
        return sql.template("CAST(CASE WHEN v THEN 1 WHEN NOT v THEN 0 END AS BIGINT)", v=value)
    if kind.kind == "decimal" and kind.scale == 0:
        return exp.cast(value, "BIGINT")
    raise QueryError(f"its column is {kind.sql}: as an integer it would be rounded or cut")


def _to_decimal(value: exp.Expr, kind: ColumnType, goal: ColumnType) -> exp.Expr:
    if kind.kind == "decimal" and kind.scale > goal.scale:
        raise QueryError(f"its column is {kind.sql}: as {goal.sql} it would be rounded")
    if kind.kind == "text":
        fraction = rf"(\.[0-9]{{0,{goal.scale}}})?"
        return _guarded(value, f"^[+-]?[0-9]+{fraction}$", goal.sql)
    if kind.kind not in {"integer", "decimal", "float"}:
        raise QueryError(f"its column is {kind.sql}, which is not a number")
    return exp.cast(value, exp.DataType.build(goal.sql))


def _guarded(value: exp.Expr, pattern: str, target: str) -> exp.Expr:
    """A cast of text; the statement fails with a value that does not match the pattern."""
    goal = exp.DataType.build(target)
    fits = exp.RegexpLike(this=value, expression=exp.Literal.string(pattern))
    message = exp.DPipe(this=value.copy(), expression=exp.Literal.string(f" is not {target}"))
    return exp.case().when(fits, exp.cast(value.copy(), goal)).else_(exp.cast(message, goal))
