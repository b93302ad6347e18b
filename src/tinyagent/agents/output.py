"""From the text of an answer to the type that the caller wants."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from tinyagent.core.errors import ConfigurationError, MalformedReply
from tinyagent.tools.parameters import describe_faults, tidy_schema
from tinyagent.tools.tool import as_text

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


class OutputReader(Generic[T]):
    """Reads answers as `output_type`; None and `str` take the text as it is.

    `schema` is the JSON Schema of the type, None for a text; `instruction` says it to the model.
    `by_call`: the answer is given as a value, to a function, and not as a text.

    Raises:
        ConfigurationError: no JSON can be read as this type.
    """

    def __init__(self, output_type: type[T] | None, *, by_call: bool = False) -> None:
        self._adapter: TypeAdapter[T] | None = None
        self.schema: dict[str, Any] | None = None
        self.instruction = ""
        if output_type is None or output_type is str:
            return
        from pydantic import PydanticUserError, TypeAdapter  # noqa: PLC0415 - see `import tinyagent`

        try:
            self._adapter = TypeAdapter(output_type)
            self.schema = tidy_schema(self._adapter.json_schema())
        except PydanticUserError as error:
            raise ConfigurationError(
                f"output_type {output_type!r} cannot be described as JSON"
                f" ({str(error).splitlines()[0]})"
            ) from None
        what = "What you give to final_answer must match" if by_call else "Your answer must be JSON"
        form = "" if by_call else " that matches"
        self.instruction = f"{what}{form} this JSON Schema: {json.dumps(self.schema)}"

    def read(self, text: str) -> T:
        """The answer.

        Raises:
            MalformedReply: it does not fit; the message says where, for the model.
        """
        return self._validated(lambda adapter: adapter.validate_json(_without_fence(text)), text)

    def read_value(self, value: Any) -> T:
        """The answer that was given as a value; as `str`, where there is no type, its text.

        Raises:
            MalformedReply: it does not fit; the message says where, for the model.
        """
        return self._validated(lambda adapter: adapter.validate_python(value), value)

    def _validated(self, read: Callable[[TypeAdapter[T]], T], given: Any) -> T:
        if self._adapter is None:
            return cast("T", plain_text(given))
        from pydantic import ValidationError  # noqa: PLC0415

        try:
            return read(self._adapter)
        except ValidationError as error:
            raise MalformedReply(
                f"Your answer does not fit the wanted type:\n{describe_faults(error)}\n"
                f"{self.instruction}"
            ) from None


def plain_text(value: Any) -> str:
    """The value as the text of an answer: a date or a decimal without the quotes of its JSON."""
    try:
        text = as_text(value)
    except ValueError:  # an integer of 5,000 digits has no text
        return f"<{type(value).__name__} too long to be written out>"
    if text.startswith('"') and not isinstance(value, str):
        return str(json.loads(text))
    return text


def _without_fence(text: str) -> str:
    """The JSON inside a Markdown fence, where the whole answer is one."""
    stripped = text.strip()
    if stripped.startswith("```") and stripped.endswith("```"):
        return stripped.removesuffix("```").partition("\n")[2]
    return stripped
