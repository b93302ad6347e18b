"""What OpenAI checks in chat completions and Responses alike, in its own words.

Most providers of chat completions copy these errors. OpenAI's limits on the length of ids,
descriptions and schemas are not checked: their current values are not documented.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from tinyagent.testing.strict.schemas import OPENAI, Subset, fault, root_fault
from tinyagent.testing.strict.session import Json, Refused

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SAMPLING = ("top_p", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs")


def missing(place: str, *, code: str = "") -> Refused:
    """A required parameter is missing."""
    return Refused(f"Missing required parameter: '{place}'.", code=code, param=place)


def unknown(place: str) -> Refused:
    """A parameter does not exist."""
    return Refused(f"Unknown parameter: '{place}'.", code="unknown_parameter", param=place)


def not_among(value: Any, known: Iterable[str], place: str) -> Refused:
    """A value is not one of those supported."""
    listed = ", ".join(f"'{name}'" for name in known)
    message = f"Invalid value: '{value}'. Supported values are: {listed}."
    return Refused(message, code="invalid_value", param=place)


def wrong_type(place: str, expected: str) -> Refused:
    """A value has another type than expected."""
    message = f"Invalid type for '{place}': expected {expected}."
    return Refused(message, code="invalid_type", param=place)


def empty_array(place: str, *, status: int = 400) -> Refused:
    """An array is empty."""
    return Refused(
        f"Invalid '{place}': empty array. Expected an array with minimum length 1, but got an "
        "empty array instead.",
        status=status,
        code="empty_array",
        param=place,
    )


def unsupported(key: str, hint: str = "") -> Refused:
    """A model does not have a parameter."""
    return Refused(
        f"Unsupported parameter: '{key}' is not supported with this model. {hint}".strip(),
        code="unsupported_parameter",
        param=key,
    )


def unsupported_value(key: str, value: str, hint: str) -> Refused:
    """A model does not have a value of a parameter."""
    message = f"Unsupported value: '{key}' does not support {value} with this model. {hint}"
    return Refused(message, code="unsupported_value", param=key)


def check_function(
    name: str, parameters: Any, place: str, *, strict: Subset | None, named: bool = True
) -> None:
    """Check a function declaration.

    Args:
        name: the function's name.
        parameters: its JSON Schema.
        place: where in the request it is.
        strict: the subset of JSON Schema for strict functions; None for others.
        named: whether the form of the name is checked.
    """
    if named and not _NAME.fullmatch(name):
        raise Refused(
            f"Invalid '{place}.name': string does not match pattern. Expected a string that "
            "matches the pattern '^[a-zA-Z0-9_-]+$'.",
            code="invalid_value",
            param=f"{place}.name",
        )
    problem = _schema_fault(parameters, strict)
    if problem is not None:
        raise Refused(
            f"Invalid schema for function '{name}': {problem}",
            code="invalid_function_parameters",
            param=f"{place}.parameters",
        )


def check_output_schema(described: Json, place: str) -> None:
    """Check a schema for structured output."""
    name = str(described.get("name", ""))
    if not _NAME.fullmatch(name):
        raise missing(f"{place}.name")
    problem = _schema_fault(described.get("schema"), OPENAI if described.get("strict") else None)
    if problem is not None:
        raise Refused(
            f"Invalid schema for response_format '{name}': {problem}",
            code="invalid_json_schema",
            param=place.partition(".")[0],
        )


def _schema_fault(schema: Any, strict: Subset | None) -> str | None:
    problem = root_fault(schema)
    if problem is not None or strict is None:
        return problem
    mismatch = fault(schema, OPENAI)
    return None if mismatch is None else f"In context={mismatch[0]!r}, {mismatch[1]}"


@dataclass(frozen=True, slots=True)
class OpenAIModelRules:
    """How a model of OpenAI reasons; without `efforts`, it does not."""

    pattern: str
    efforts: tuple[str, ...] = ()
    thinks: bool = False
    tools: Literal["always", "without effort", "effort none"] = "always"

    def reasons(self, effort: str | None) -> bool:
        """Whether reasoning is on for a request with this effort."""
        return bool(self.efforts) and (self.thinks if effort is None else effort != "none")

    def takes_functions(self, effort: str | None) -> bool:
        """Whether chat completions accept function tools with this effort."""
        if self.tools == "without effort":
            return effort in (None, "none")
        return self.tools == "always" or effort == "none"


_EFFORTS = ("none", "low", "medium", "high", "xhigh")
_MODELS = (
    OpenAIModelRules(r"o\d.*", ("low", "medium", "high"), thinks=True),
    OpenAIModelRules(r"gpt-5.*-pro.*", ("low", "medium", "high", "xhigh"), thinks=True),
    OpenAIModelRules(r"gpt-5\.6.*", (*_EFFORTS, "max"), thinks=True, tools="effort none"),
    OpenAIModelRules(r"gpt-5\.5.*", _EFFORTS, thinks=True, tools="effort none"),
    OpenAIModelRules(r"gpt-5\.[1-4].*-chat.*", _EFFORTS, thinks=True),
    OpenAIModelRules(r"gpt-5\.4.*", _EFFORTS, tools="without effort"),
    OpenAIModelRules(r"gpt-5\.[1-3].*", _EFFORTS),
    OpenAIModelRules(r"gpt-5.*", ("minimal", "low", "medium", "high"), thinks=True),
    OpenAIModelRules(r".*"),
)


def openai_model(name: str) -> OpenAIModelRules:
    """The rules of a model by its name."""
    return next(rules for rules in _MODELS if re.fullmatch(rules.pattern, name))


def check_reasoning(body: Json, model: str, effort: Any, param: str) -> OpenAIModelRules:
    """Check the effort, and that no sampling parameter is sent while the model reasons."""
    rules = openai_model(model)
    if effort is not None and effort not in rules.efforts:
        if not rules.efforts:
            raise unsupported(param)
        listed = ", ".join(f"'{name}'" for name in rules.efforts)
        raise unsupported_value(param, f"'{effort}'", f"Supported values are: {listed}.")
    if rules.reasons(effort):
        temperature = body.get("temperature")
        if temperature not in (None, 1):
            hint = "Only the default (1) value is supported."
            raise unsupported_value("temperature", str(temperature), hint)
        for key in _SAMPLING:
            if body.get(key) is not None:
                raise unsupported(key)
    return rules
