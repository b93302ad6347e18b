"""The content of a file with line numbers: plain data, the line of each part, and all faults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from skillian.connectors import scheme
from skillian.errors import Fault, nearest

Path = tuple[str | int, ...]
Data = Mapping[str, "Data"] | list["Data"] | str | None


@dataclass(slots=True)
class YamlDocument:
    """A file's data, the line on which each path starts (from 1), and its faults."""

    file: str
    data: Data = None
    lines: dict[Path, int] = field(default_factory=dict[Path, int])
    faults: list[Fault] = field(default_factory=list[Fault])

    def fault(self, line: int, message: str, fix: str = "") -> None:
        """Add a fault."""
        self.faults.append(Fault(self.file, line, message, fix))

    def line_of(self, path: Path) -> int:
        """The line of `path`, or of the nearest parent that has one."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)


M = TypeVar("M", bound=BaseModel)

_SHOWN = 60


def validated(model: type[M], document: YamlDocument, secret: str | None = None) -> M | None:
    """The document's data as this model; None, with faults in the document, if invalid.

    Values under the key `secret` never appear in a fault.
    """
    if document.data is None and not document.faults:
        document.fault(1, "the file is empty")
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        # On a line with a YAML fault, other faults may only be its consequences.
        known = {fault.line for fault in document.faults}
        for details in error.errors(include_url=False):
            line = document.line_of(details["loc"])
            if line not in known:
                document.fault(line, *_explained(model, details, secret))
    return None


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
    "decimal_parsing": "it is not a number",
    "decimal_type": "it is not a number",
    "finite_number": "it is not a finite number",
    "greater_than_equal": "it is less than {ge}",
    "less_than_equal": "it is more than {le}",
    "decimal_max_places": "it has more than {decimal_places} digits after the point",
    "decimal_max_digits": "it has more than {max_digits} digits",
    "literal_error": "it is not one of {expected}",
}


def reason_of(details: ErrorDetails) -> str:
    """Why a value is not valid."""
    known = _REASONS.get(details["type"])
    if known is not None:
        return known.format_map(details.get("ctx", {}))
    return details["msg"].removeprefix("Value error, ")


def shown(text: str) -> str:
    """A text for a message; of a URL only its scheme, since it may contain a password."""
    return f"{scheme(text)}://…" if scheme(text) else text


def _explained(
    model: type[BaseModel], details: ErrorDetails, secret: str | None
) -> tuple[str, str]:
    """The message and the fix for one fault."""
    location = details["loc"]
    key = str(location[-1]) if location else "the file"
    if details["type"] == "extra_forbidden":
        known = nearest(key, _keys_at(model, location[:-1]))
        return f"unknown key `{key}`", f"did you mean `{known[0]}`? known: {', '.join(known)}"
    if details["type"] == "missing":
        return f"`{key}` is missing in `{_place(location[:-1])}`", f"add `{key}:`"
    message = reason_of(details)
    hidden = secret is not None and location[:1] == (secret,)
    return f"`{_place(location)}`: {message}{'' if hidden else _got(details)}", ""


def _got(details: ErrorDetails) -> str:
    """The invalid value, if it is short."""
    value = details.get("input")
    return f", got '{shown(value)}'" if isinstance(value, str) and len(value) <= _SHOWN else ""


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "the file"


def _keys_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
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
