"""What OpenAI checks in chat completions and Responses alike, in its own words.

Most providers of chat completions copy these errors. OpenAI's limits on the length of ids,
descriptions and schemas are not checked: their current values are not documented.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from tinyagent.testing.strict.rules import Node
from tinyagent.testing.strict.schemas import OPENAI, Subset, fault, root_fault

AFTER_CALL = (
    "Please ensure that function response turn comes immediately after a function call turn."
)
EQUAL_NUMBER = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn."
)
WORDS = {
    "missing": "Missing required parameter: '{at}'.",
    "missing-in": "Missing required parameter: '{at}'. #missing_required_parameter",
    "unknown": "Unknown parameter: '{at}'. #unknown_parameter",
    "unsupported": "Unsupported parameter: '{at}' is not supported with this model. "
    "#unsupported_parameter",
    "value": "Invalid value: '{text}'. Supported values are: {listed}. #invalid_value",
    "objects": "Invalid type for '{at}': expected an array of objects. #invalid_type",
    "object": "Invalid type for '{at}': expected an object. #invalid_type",
    "string": "Invalid type for '{at}': expected a string. #invalid_type",
    "empty": "Invalid '{at}': empty array. Expected an array with minimum length 1, but got an "
    "empty array instead. #empty_array",
    "name": "Invalid '{at}': string does not match pattern. Expected a string that matches the "
    "pattern '^[a-zA-Z0-9_-]+$'. #invalid_value",
}
_VALUE = (
    "Unsupported value: '{at}' does not support {shown} with this model. {hint} #unsupported_value"
)
_SAMPLING = (
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
)


def check_schema(node: Node, kind: str, subset: Subset | None) -> None:
    """Check the schema of a function or of `response_format`, and its subset if it is strict."""
    problem = root_fault(node.value)
    mismatch = None if subset is None or problem else fault(node.value, subset)
    if mismatch is not None:
        problem = f"In context={mismatch[0]!r}, {mismatch[1]}"
    if problem is None:
        return
    end = "#invalid_function_parameters"
    if kind != "function":
        end = f"#invalid_json_schema @{node.place.partition('.')[0]}"
    words = "Invalid schema for {kind} '{parent[name]}': {problem} " + end
    raise node.refused(words, kind=kind, problem=problem)


def check_format(node: Node) -> None:
    """Check the schema for structured output."""
    (schema,) = node.children("schema")
    check_schema(schema, "response_format", OPENAI if node.get("strict") else None)


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


_LEVELS = ("low", "medium", "high")
_MORE = (*_LEVELS, "xhigh")
_EFFORTS = ("none", *_MORE)
_MODELS = (
    OpenAIModelRules(r"o\d.*", _LEVELS, thinks=True),
    OpenAIModelRules(r"gpt-5-chat.*"),
    OpenAIModelRules(r"gpt-5-pro.*", ("high",), thinks=True),
    OpenAIModelRules(r"gpt-5-codex.*", _LEVELS, thinks=True),
    OpenAIModelRules(r"gpt-5\.\d-pro.*", _MORE, thinks=True),
    OpenAIModelRules(r"gpt-5\.\d-chat.*", ("medium",), thinks=True),
    OpenAIModelRules(r"gpt-5\.1-codex.*", _MORE, thinks=True),
    OpenAIModelRules(r"gpt-5\.6.*", (*_EFFORTS, "max"), thinks=True, tools="effort none"),
    OpenAIModelRules(r"gpt-5\.5.*", _EFFORTS, thinks=True, tools="effort none"),
    OpenAIModelRules(r"gpt-5\.4.*", _EFFORTS, tools="without effort"),
    OpenAIModelRules(r"gpt-5\.[2-3].*", _EFFORTS),
    OpenAIModelRules(r"gpt-5\.1.*", ("none", *_LEVELS)),
    OpenAIModelRules(r"gpt-5.*", ("minimal", *_LEVELS), thinks=True),
    OpenAIModelRules(r".*"),
)


def openai_model(name: str) -> OpenAIModelRules:
    """The rules of a model by its name."""
    return next(rules for rules in _MODELS if re.fullmatch(rules.pattern, name))


def check_reasoning(node: Node) -> None:
    """Check the effort, and that no sampling parameter is sent while the model reasons."""
    body, rules, effort = node.exchange.body, openai_model(node.exchange.model), node.value
    if effort is not None and effort not in rules.efforts:
        if not rules.efforts:
            raise node.refused(WORDS["unsupported"])
        listed = ", ".join(f"'{name}'" for name in rules.efforts)
        raise node.refused(_VALUE, shown=f"'{effort}'", hint=f"Supported values are: {listed}.")
    for key in _SAMPLING if rules.reasons(effort) else ():
        place = Node(key, body.get(key), body, node.exchange)
        if key == "temperature" and place.value not in (None, 1):
            hint = "Only the default (1) value is supported."
            raise place.refused(_VALUE, shown=place.value, hint=hint)
        if key != "temperature" and place.value is not None:
            raise place.refused(WORDS["unsupported"])
