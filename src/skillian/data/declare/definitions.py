"""The format of `sources.yaml`: connections, sources and comparison settings."""

import re
from decimal import Decimal
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    model_validator,
)
from pydantic_core import ErrorDetails

# The field's own words for what Pydantic finds, by the kind of its error.
_REASONS = {
    "string_type": "it is not a text",
    "string_pattern_mismatch": "it has a control character",
    "string_too_short": "it is empty",
    "string_too_long": "it has more than {max_length} characters",
    "too_short": "it is empty",
    "too_long": "it has more than {max_length} entries",
    "list_type": "it is not a list",
    "tuple_type": "it is not a list",
    "dict_type": "it is not a mapping of the form `name: value`",
    "model_type": "it is not a mapping of the form `name: value`",
    "bool_parsing": "it is neither true nor false",
    "bool_type": "it is neither true nor false",
    "int_parsing": "it is not a whole number",
    "int_type": "it is not a whole number",
    "decimal_parsing": "it is not a number; write one such as 1234.5, with a decimal point",
    "decimal_type": "it is not a number",
    "finite_number": "it is not a finite number",
    "greater_than_equal": "it is less than {ge}",
    "less_than_equal": "it is more than {le}",
    "decimal_max_places": "it has more than {decimal_places} digits after the point",
    "decimal_whole_digits": "it has more than {whole_digits} digits before the point",
    "decimal_max_digits": "it has more than {max_digits} digits",
    "literal_error": "it is not one of {expected}",
}


def reason_of(details: ErrorDetails) -> str:
    """Why a value is not valid."""
    known = _REASONS.get(details["type"])
    if known is not None:
        return known.format_map(details.get("ctx", {}))
    return details["msg"].removeprefix("Value error, ")


Aggregation = Literal["sum", "count", "count_distinct", "avg", "min", "max"]

LPAD = re.compile(r"lpad\(\s*(?P<width>[1-9][0-9]{0,2})\s*,\s*'(?P<fill>[^'])'\s*\)")
DECIMAL = re.compile(r"decimal\(\s*(?P<precision>[0-9]{1,2})\s*,\s*(?P<scale>[0-9]{1,2})\s*\)")
_TYPES = ("text", "integer", "boolean", "date", "timestamp", "decimal(18,2)")
_MAX_DIGITS = 38


def _check_type(value: str) -> str:
    match = DECIMAL.fullmatch(value)
    if match and int(match["scale"]) <= int(match["precision"]) <= _MAX_DIGITS:
        return value
    if value not in _TYPES:
        raise ValueError(f"`{value}` is not a type; write one of {', '.join(_TYPES)}")
    return value


def _check_step(value: str) -> str:
    if value not in {"trim", "upper", "nfc"} and not LPAD.fullmatch(value):
        raise ValueError(f"`{value}` is not a step; write trim, upper, nfc or \"lpad(10,'0')\"")
    return value


# As long as two paths, since two files that are compared name their comparison.
_MAX_NAME = 10_000
Name = Annotated[
    str, StringConstraints(min_length=1, max_length=_MAX_NAME, pattern=r"^[^\x00-\x1f]*$")
]
ColumnName = Annotated[str, StringConstraints(min_length=1, max_length=_MAX_NAME)]
TypeName = Annotated[str, AfterValidator(_check_type)]
Step = Annotated[str, AfterValidator(_check_step)]
Limit = Annotated[Decimal, Field(ge=0, max_digits=27, decimal_places=9)]


class Definition(BaseModel):
    """The base of all parts of the file: unknown keys are faults, and values are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Dimension(Definition):
    """A column to group, align and filter by.

    `normalise` and the `values` map convert the column's value as text; then it is converted to
    `type`. `format` (strftime codes) parses a date or timestamp from text, or formats one as text.
    """

    column: Name
    type: TypeName | None = None
    format: Annotated[str, Field(min_length=1)] | None = None
    normalise: tuple[Step, ...] = ()
    values: dict[str, str] = Field(default_factory=dict)
    description: str = ""
    synonyms: tuple[Name, ...] = ()

    @model_validator(mode="after")
    def _format_has_a_type(self) -> Self:
        if self.format and self.type not in {"text", "date", "timestamp"}:
            raise ValueError("`format` needs `type: date` or `timestamp` (to read), or `text`")
        return self


class Measure(Definition):
    """A number, aggregated: a `column` or an `expression` over the columns of one row."""

    column: Name | None = None
    expression: Annotated[str, Field(min_length=1)] | None = None
    aggregation: Aggregation
    unit: str | None = None
    description: str = ""
    synonyms: tuple[Name, ...] = ()

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if (self.column is None) == (self.expression is None):
            raise ValueError("a measure needs either `column` or `expression`, and not both")
        return self


class Source(Definition):
    """A table, or a hand-written query, of one connection, with logical names.

    `values: hidden` hides row values from language models, which get counts and shares.
    """

    connection: Name
    table: Name | None = None
    query: Annotated[str, Field(min_length=1)] | None = None
    description: str = ""
    dimensions: Annotated[dict[Name, Dimension], Field(min_length=1)]
    measures: dict[Name, Measure] = Field(default_factory=dict[str, Measure])
    freshness: Name | None = None
    values: Literal["shown", "hidden"] = "shown"

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if (self.table is None) == (self.query is None):
            raise ValueError("a source needs either `table` or `query`, and not both")
        return self


class Limits(Definition):
    """The largest permitted difference of two numbers, inclusive.

    If both limits are set, both must be met; if only one is set, it decides alone.
    """

    absolute: Limit | None = None
    percentage: Limit | None = None

    def over(self, wider: "Limits") -> "Limits":
        """These limits if at least one is stated, otherwise those of `wider`.

        An unstated limit does not apply: one that is stated replaces both of `wider`.
        """
        return wider if self.absolute is None and self.percentage is None else self

    def settled(self) -> "Limits":
        """The effective limits: both are 0 if neither is set."""
        if self.absolute is None and self.percentage is None:
            return Limits(absolute=Decimal(0), percentage=Decimal(0))
        return self

    @property
    def is_exact(self) -> bool:
        """Whether only equal numbers are within these limits."""
        return not self.absolute if self.absolute is not None else not self.percentage

    def words(self, unit: str | None = None) -> str:
        """The limits in words, such as `10 EUR and 1 %`."""
        amount = f" {unit}" if unit else ""
        parts = [f"{self.absolute:,f}{amount}"] if self.absolute is not None else []
        parts += [f"{self.percentage:f} %"] if self.percentage is not None else []
        return " and ".join(parts) or "0"


class Thresholds(Definition):
    """The limits of the classes `match` and `minor_diff`; larger differences are `major_diff`."""

    match: Limits = Limits.model_construct()
    minor_diff: Limits = Limits.model_construct()

    def over(self, wider: "Thresholds") -> "Thresholds":
        """These thresholds; a class without limits has those of `wider`."""
        return Thresholds(
            match=self.match.over(wider.match), minor_diff=self.minor_diff.over(wider.minor_diff)
        )

    def settled(self) -> "Thresholds":
        """The effective limits."""
        return Thresholds(match=self.match.settled(), minor_diff=self.minor_diff.settled())


class MeasureSettings(Definition):
    """Settings for all comparisons of one measure."""

    thresholds: Thresholds


class PairSettings(Definition):
    """Settings for all comparisons of two sources, in either direction."""

    sources: Annotated[tuple[Name, ...], Field(min_length=2, max_length=2)]
    thresholds: Thresholds


class ComparisonSettings(Definition):
    """Defaults of every comparison; settings of a measure or a pair have precedence."""

    default_align_on: tuple[Name, ...] = ()
    thresholds: Thresholds = Thresholds.model_construct()
    pairs: tuple[PairSettings, ...] = ()
    measures: dict[Name, MeasureSettings] = Field(default_factory=dict)
    cache_ttl_seconds: Annotated[int, Field(ge=0)] = 3600

    def thresholds_for(self, pair: frozenset[str], measure: str) -> Thresholds:
        """The configured limits for one measure of two sources."""
        thresholds = self.thresholds
        for settings in self.pairs:
            if frozenset(settings.sources) == pair:
                thresholds = settings.thresholds.over(thresholds)
        if measure in self.measures:
            thresholds = self.measures[measure].thresholds.over(thresholds)
        return thresholds


class SourcesFile(Definition):
    """The whole file. Connection URLs may contain secrets and are never printed."""

    connections: Annotated[dict[Name, SecretStr], Field(min_length=1)]
    sources: Annotated[dict[Name, Source], Field(min_length=1)]
    comparison: ComparisonSettings = ComparisonSettings.model_construct()


def keys_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The keys that the mapping at `location` may have."""
    annotation: Any = model
    for part in location:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            annotation = annotation.model_fields[str(part)].annotation
        else:
            # dict[Name, Model] and tuple[Model, ...]: the model is the one that is a class.
            annotation = next(arg for arg in get_args(annotation) if _is_model(arg))
    if not _is_model(annotation):  # one that may be left out
        annotation = next(arg for arg in get_args(annotation) if _is_model(arg))
    return list(annotation.model_fields)


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
