"""Every error that skillian raises, grouped by who can act on it.

    SkillianError
    ├── ConfigurationError        the author of a file must fix it; lists all faults
    └── ToolError                 a model may read it, and can ask again in a different way
        ├── InvalidInputError     validation_error: the question is wrong
        │   └── RowsNotKeptError      more rows differ than are kept
        ├── UnknownNameError      not_found: no such source, dimension or measure
        │   └── SourceNotFoundError   has `available_sources`
        ├── QueryError            query_error: the statement or a definition failed
        │   └── UnreadableColumnError   a value is not of its column's type
        └── UnavailableError      runtime_error: not possible with this version or installation

A `ToolError` never holds a connection string, a path or a stack trace.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from reprlib import Repr
from typing import ClassVar, Literal

ErrorType = Literal["validation_error", "not_found", "query_error", "runtime_error"]

LONGEST_QUOTED = 60
LONGEST_NAME = 200

_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = LONGEST_QUOTED
_SHORT.maxlevel = 2
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 4


def quoted(value: object) -> str:
    """A value for a message: in quotes, with unprintable characters escaped.

    The middle of a text longer than `LONGEST_QUOTED` is left out.
    """
    return _SHORT.repr(value)


class SkillianError(Exception):
    """The base class of all errors that skillian raises."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in a configuration file: where it is, what is wrong, and how to fix it."""

    file: str
    line: int
    message: str
    fix: str = ""

    def __str__(self) -> str:
        text = f"{self.file}:{self.line}: {self.message}"
        return f"{text}; {self.fix}" if self.fix else text


class ConfigurationError(SkillianError):
    """A configuration file cannot be used; `faults` holds every fault, in file order."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(faults, key=lambda fault: (fault.file, fault.line)))
        super().__init__("\n".join(str(fault) for fault in self.faults))


class ToolError(SkillianError):
    """An error that a tool may return to a model; `type` names its kind in JSON."""

    type: ClassVar[ErrorType] = "runtime_error"

    def to_dict(self) -> dict[str, object]:
        """The error as the result of a tool: `error`, `type`, `message` and fields of its kind."""
        return {"error": True, "type": self.type, "message": str(self)}


class InvalidInputError(ToolError):
    """The question is wrong; the message says which part, and what is valid."""

    type: ClassVar[ErrorType] = "validation_error"


class RowsNotKeptError(InvalidInputError):
    """More rows differ than are kept; the message says how to get them all."""


class OtherSubjectError(InvalidInputError):
    """A comparison of measures is needed and this one is of whole rows, or the reverse."""


class NamesValuesError(InvalidInputError):
    """A question is wrong because of values that the message names.

    Args:
        message: The whole message.
        without_values: The message for those who may not see values.
    """

    def __init__(self, message: str, without_values: str) -> None:
        self.without_values = without_values
        super().__init__(message)


class UnknownNameError(ToolError):
    """No `kind` (source, dimension, measure) has this name; `available` lists the nearest first."""

    type: ClassVar[ErrorType] = "not_found"

    def __init__(self, kind: str, name: str, available: Iterable[str], where: str = "") -> None:
        self.kind = kind
        self.name = name
        self.available = nearest(name, available)
        place = f" in {where}" if where else ""
        known = ", ".join(self.available) or "none"
        super().__init__(
            f"there is no {kind} {quoted(name)}{place}; {kind}s, nearest first: {known}"
        )

    def to_dict(self) -> dict[str, object]:
        """The error with `available_<kind>s`, nearest first."""
        return {**super().to_dict(), f"available_{self.kind}s": list(self.available)}


class SourceNotFoundError(UnknownNameError):
    """No source has this name; `available_sources` lists all sources, nearest first."""

    def __init__(self, name: str, available: Iterable[str]) -> None:
        super().__init__("source", name, available)

    @property
    def available_sources(self) -> tuple[str, ...]:
        """The names of all sources, nearest first."""
        return self.available


class QueryError(ToolError):
    """A statement failed, ran too long or returned too much, or a definition does not fit."""

    type: ClassVar[ErrorType] = "query_error"


class UnreadableColumnError(QueryError):
    """A column holds a value that is not of its type.

    Attributes:
        column: The column of the result, or of `table`.
        reason: What is wrong with the value.
        table: The table that the database reads for the result; empty if `column` is the result's.
        source: The source that the column belongs to; empty if that is not known yet.
        is_beyond: Whether it is a date outside the years 1 to 9999, which a filter leaves out.
    """

    def __init__(
        self,
        column: str,
        reason: str,
        remedy: str,
        *,
        table: str = "",
        source: str = "",
        is_beyond: bool = False,
    ) -> None:
        self.is_beyond = is_beyond
        self.column = column
        self.reason = reason
        self.table = table
        self.source = source
        self._remedy = remedy
        place = f"table {table!r}, " if table else ""
        super().__init__(f"{place}column {column!r} {reason}; {remedy}")

    def of_key(self) -> QueryError:
        """The error for a column of the key, without which rows cannot be compared."""
        limits = (f"{self.column}>=0001-01-01", f"{self.column}<=9999-12-31")
        options = " ".join(f"--where '{limit}'" for limit in limits)
        filtered = f" exclude these rows with {options}," if self.is_beyond else ""
        return QueryError(
            f"{self.source or f'table {self.table!r}'}: column {self.column!r} {self.reason}; it is"
            f" part of the key: compare by another key,{filtered} or convert the column in the"
            " `query` of a declared source, such as to a text"
        )

    def of(self, source: str, columns: Mapping[str, str]) -> "UnreadableColumnError":
        """The error for a source whose `columns` have these names in the result."""
        column = self.column if self.table else columns.get(self.column, self.column)
        return UnreadableColumnError(
            column,
            self.reason,
            self._remedy,
            table=self.table,
            source=source,
            is_beyond=self.is_beyond,
        )


TOO_LARGE = (
    "a sum or another number needs more than 38 digits; narrow the statement with filters, or"
    " declare the measure with an `expression` that rounds its values, such as ROUND(amount, 2)"
)


def too_slow(seconds: float) -> QueryError:
    """The error for a statement that was stopped at its time limit."""
    return QueryError(
        f"the statement ran longer than {seconds:g} s and was stopped; narrow it with filters,"
        " or group by fewer dimensions"
    )


class UnavailableError(ToolError):
    """The question is valid, but this version or this installation cannot answer it."""

    type: ClassVar[ErrorType] = "runtime_error"


def nearest(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """All `names`, the most similar to `name` first; equally similar ones alphabetically."""
    from rapidfuzz import fuzz, process, utils  # noqa: PLC0415 - only for an error

    matches = process.extract(
        name[:LONGEST_NAME],
        sorted(names),
        scorer=fuzz.WRatio,
        processor=utils.default_process,
        limit=None,
    )
    return tuple(choice for choice, _, _ in matches)


def missing_extra(feature: str, extra: str) -> str:
    """The message of an error: a feature needs an extra that is not installed, and how to get it.

    Args:
        feature: What needs it, at the start of the sentence, in the singular.
        extra: The extra's name in `pyproject.toml`.
    """
    return (
        f"{feature} needs the extra {extra!r}, which is not installed; in the folder of the clone,"
        f" run: pip install '.[{extra}]'"
    )
