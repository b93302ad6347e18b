"""Chat completions: what a request must be, by the rules of its provider."""

from __future__ import annotations

import re
from typing import Any

from tinyagent.testing.strict import chat_messages, chat_reasoning
from tinyagent.testing.strict.chat_rules import ChatRules, openai_model
from tinyagent.testing.strict.schemas import OPENAI, fault, root_fault
from tinyagent.testing.strict.session import Exchange, Json, Refused, as_dict, as_dicts, typed_list

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SAMPLING = ("top_p", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs")


def check(exchange: Exchange, rules: ChatRules) -> None:
    """Refuse what the provider refuses."""
    body = exchange.body
    _check_keys(body, rules)
    for key in ("model", "messages"):
        if not body.get(key):
            raise Refused(f"Missing required parameter: '{key}'.", param=key)
    _check_tools(body, rules)
    _check_format(body, rules)
    if rules.subset is OPENAI:
        _check_openai_model(exchange)
    chat_messages.check(exchange, rules)
    chat_reasoning.CHECKS[rules.echo](exchange)


def _check_keys(body: Json, rules: ChatRules) -> None:
    if rules.body is None:
        return
    for key in body:
        if key not in rules.body:
            raise chat_messages.unknown_key((key,), body[key], rules)
    if "stream_options" in body and not body.get("stream"):
        raise Refused(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            param="stream_options",
        )


def _check_tools(body: Json, rules: ChatRules) -> None:
    if body.get("tools") is None:
        _check_no_tools(body, rules)
        return
    tools = typed_list(body, "tools")
    if not tools:
        raise Refused(
            "Invalid 'tools': empty array. Expected an array with minimum length 1, "
            "but got an empty array instead.",
            status=422 if rules.errors == "mistral" else 400,
            code="empty_array",
            param="tools",
        )
    if rules.subset is OPENAI and len(tools) > 128:  # noqa: PLR2004 - documented by OpenAI
        raise Refused(
            "Invalid 'tools': array too long. Expected an array with maximum length 128, "
            f"but got an array with length {len(tools)} instead.",
            code="array_above_max_length",
            param="tools",
        )
    for index, tool in enumerate(tools):
        _check_function(as_dict(tool.get("function")), f"tools[{index}].function", rules)
    _check_choice(body, rules)


def _check_no_tools(body: Json, rules: ChatRules) -> None:
    for key in ("tool_choice", "parallel_tool_calls"):
        if rules.subset is OPENAI and body.get(key) is not None:
            raise Refused(
                f"Invalid value for '{key}': '{key}' is only allowed when 'tools' are specified.",
                param=key,
            )


def _check_function(function: Json, place: str, rules: ChatRules) -> None:
    name = str(function.get("name", ""))
    if not name:
        raise Refused(f"Missing required parameter: '{place}.name'.", param=f"{place}.name")
    if rules.errors != "mistral" and not _NAME.fullmatch(name):
        raise Refused(
            f"Invalid '{place}.name': string does not match pattern. Expected a string that "
            "matches the pattern '^[a-zA-Z0-9_-]+$'.",
            code="invalid_value",
            param=f"{place}.name",
        )
    problem = root_fault(function.get("parameters", {"type": "object"}))
    if problem is None and function.get("strict") and rules.subset is not None:
        problem = strict_fault(function.get("parameters"))
    if problem is not None:
        raise Refused(
            f"Invalid schema for function '{name}': {problem}",
            code="invalid_function_parameters",
            param=f"{place}.parameters",
        )


def strict_fault(schema: Any) -> str | None:
    """Where a schema leaves OpenAI's strict subset, in OpenAI's words."""
    found = fault(schema, OPENAI)
    return None if found is None else f"In context={found[0]!r}, {found[1]}"


def _check_choice(body: Json, rules: ChatRules) -> None:
    choice = body.get("tool_choice", "auto")
    if choice == "required" and not rules.forced and _thinks(body):
        raise Refused("tool_choice 'required' is incompatible with thinking enabled")
    if isinstance(choice, str):
        allowed = ["none", "auto", "required"] + ["any"] * (rules.errors == "mistral")
        if choice not in allowed:
            raise Refused(
                f"Invalid value: '{choice}'. Supported values are: {allowed}.", param="tool_choice"
            )
    elif as_dict(choice).get("type") == "function":
        named = as_dict(as_dict(choice).get("function")).get("name")
        if named not in [as_dict(t.get("function")).get("name") for t in as_dicts(body["tools"])]:
            raise Refused(f"Tool choice '{named}' not found in 'tools'.", param="tool_choice")


def _thinks(body: Json) -> bool:
    return bool(as_dict(body.get("thinking")).get("type", "enabled") != "disabled")


def _check_format(body: Json, rules: ChatRules) -> None:
    wanted = as_dict(body.get("response_format"))
    kind = wanted.get("type")
    if kind == "json_schema" and not rules.json_schema:
        raise Refused("This response_format type is unavailable now", param="response_format")
    if kind == "json_object" and "json" not in str(body["messages"]).lower():
        raise Refused(
            "'messages' must contain the word 'json' in some form, to use 'response_format' "
            "of type 'json_object'.",
            param="messages",
        )
    if kind != "json_schema" or rules.subset is not OPENAI:
        return
    described = as_dict(wanted.get("json_schema"))
    check_named_schema(described, "response_format.json_schema")


def check_named_schema(described: Json, place: str) -> None:
    """Check a schema for structured output as OpenAI does."""
    name, schema = str(described.get("name", "")), described.get("schema")
    if not _NAME.fullmatch(name):
        raise Refused(f"Missing required parameter: '{place}.name'.", param=f"{place}.name")
    problem = root_fault(schema)
    if problem is None and described.get("strict"):
        problem = strict_fault(schema)
    if problem is not None:
        raise Refused(
            f"Invalid schema for response_format '{name}': {problem}",
            code="invalid_json_schema",
            param=place.partition(".")[0],
        )


def _check_openai_model(exchange: Exchange) -> None:
    body, model = exchange.body, exchange.model
    rules, effort = openai_model(model), body.get("reasoning_effort")
    check_effort(model, effort, "reasoning_effort")
    if rules.efforts and body.get("max_tokens") is not None:
        raise unsupported("max_tokens", "Use 'max_completion_tokens' instead.")
    if rules.reasons(effort):
        check_sampling(body)
    refused = {
        "always": False,
        "without effort": effort not in (None, "none"),
        "effort none": effort != "none",
    }
    functions = [t for t in as_dicts(body.get("tools")) if t.get("type") == "function"]
    if functions and refused[rules.tools]:
        raise Refused(
            f"Function tools with reasoning_effort are not supported for {model} in "
            "/v1/chat/completions. To use function tools, use /v1/responses or set "
            "reasoning_effort to 'none'.",
            param="reasoning_effort",
        )


def check_effort(model: str, effort: Any, param: str) -> None:
    """Refuse an effort that an OpenAI model does not know."""
    known = openai_model(model).efforts
    if effort is None or effort in known:
        return
    if not known:
        raise unsupported(param)
    shown = ", ".join(f"'{name}'" for name in known)
    raise Refused(
        f"Unsupported value: '{param}' does not support '{effort}' with this model. "
        f"Supported values are: {shown}.",
        code="unsupported_value",
        param=param,
    )


def check_sampling(body: Json) -> None:
    """Refuse what an OpenAI model does not take while it reasons."""
    temperature = body.get("temperature")
    if temperature not in (None, 1):
        raise Refused(
            f"Unsupported value: 'temperature' does not support {temperature} with this model. "
            "Only the default (1) value is supported.",
            code="unsupported_value",
            param="temperature",
        )
    for key in _SAMPLING:
        if body.get(key) is not None:
            raise unsupported(key)


def unsupported(key: str, hint: str = "") -> Refused:
    """A parameter that an OpenAI model does not take."""
    return Refused(
        f"Unsupported parameter: '{key}' is not supported with this model. {hint}".strip(),
        code="unsupported_parameter",
        param=key,
    )
