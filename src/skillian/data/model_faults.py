"""What Pydantic finds in a YAML file, as faults with their line and what to write instead."""

from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from skillian.connectors import scheme
from skillian.data.yaml_lines import Document
from skillian.errors import nearest

M = TypeVar("M", bound=BaseModel)

_SHOWN = 60


def validated(model: type[M], document: Document, secret: str | None = None) -> M | None:
    """Return the document's data as this model; None where it does not fit, and why is noted.

    What stands under the key `secret` is never repeated in a fault.
    """
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        # A line with a fault of YAML already may only look wrong because of it.
        known = {fault.line for fault in document.faults}
        for details in error.errors(include_url=False):
            line = document.line_of(details["loc"])
            if line not in known:
                document.fault(line, *_told(model, details, secret))
    return None


def shown(text: str) -> str:
    """Return a text for a message; of a URL only its scheme, the rest may hold a password."""
    return f"{scheme(text)}://…" if scheme(text) else text


def _told(model: type[BaseModel], details: ErrorDetails, secret: str | None) -> tuple[str, str]:
    """Return the message and the mend for one fault."""
    location = details["loc"]
    key = str(location[-1]) if location else "the file"
    if details["type"] == "extra_forbidden":
        known = nearest(key, _keys_at(model, location[:-1]))
        return f"unknown key `{key}`", f"did you mean `{known[0]}`? known: {', '.join(known)}"
    if details["type"] == "missing":
        return f"`{key}` is missing in `{_place(location[:-1])}`", f"add `{key}:`"
    message = details["msg"].removeprefix("Value error, ")
    hidden = secret is not None and location[:1] == (secret,)
    return f"`{_place(location)}`: {message}{'' if hidden else _got(details)}", ""


def _got(details: ErrorDetails) -> str:
    """What stands there, where it is short."""
    given = details.get("input")
    return f", got '{shown(given)}'" if isinstance(given, str) and len(given) <= _SHOWN else ""


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "the file"


def _keys_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Return the keys that the mapping at `location` may have."""
    annotation: Any = model
    for part in location:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            annotation = annotation.model_fields[str(part)].annotation
        else:
            # dict[Name, Model] and tuple[Model, ...]: the model is the one that is a class.
            annotation = next(arg for arg in get_args(annotation) if _is_model(arg))
    return list(annotation.model_fields)


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
