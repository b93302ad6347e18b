"""Chat completions: what a request must be, by the rules of its provider."""

from __future__ import annotations

from typing import Any

from tinyagent.testing.strict.chat import messages, reasoning
from tinyagent.testing.strict.chat.rules import ChatRules
from tinyagent.testing.strict.openai import (
    check_function,
    check_output_schema,
    check_reasoning,
    empty_array,
    missing,
    unsupported,
)
from tinyagent.testing.strict.schemas import OPENAI
from tinyagent.testing.strict.session import Exchange, Json, Refused, as_dict, as_dicts, typed_list

_MOST_TOOLS = 128  # documented by OpenAI


def check(exchange: Exchange, rules: ChatRules) -> None:
    """Refuse what the provider refuses."""
    body = exchange.body
    _check_keys(body, rules)
    for key in ("model", "messages"):
        if not body.get(key):
            raise missing(key)
    _check_tools(body, rules)
    _check_format(body, rules)
    if rules.subset is OPENAI:
        _check_openai_model(exchange)
    messages.check(exchange, rules)
    reasoning.CHECKS[rules.echo](exchange)


def _check_keys(body: Json, rules: ChatRules) -> None:
    if rules.body is None:
        return
    for key in body:
        if key not in rules.body:
            raise messages.unknown_key((key,), body[key], rules)
    if "stream_options" in body and not body.get("stream"):
        raise Refused(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            param="stream_options",
        )


def _check_tools(body: Json, rules: ChatRules) -> None:
    if body.get("tools") is None:
        for key in ("tool_choice", "parallel_tool_calls"):
            if rules.subset is OPENAI and body.get(key) is not None:
                raise Refused(
                    f"Invalid value for '{key}': '{key}' is only allowed when 'tools' are "
                    "specified.",
                    param=key,
                )
        return
    tools = typed_list(body, "tools")
    if not tools:
        raise empty_array("tools", status=422 if rules.errors == "mistral" else 400)
    if rules.subset is OPENAI and len(tools) > _MOST_TOOLS:
        raise Refused(
            "Invalid 'tools': array too long. Expected an array with maximum length "
            f"{_MOST_TOOLS}, but got an array with length {len(tools)} instead.",
            code="array_above_max_length",
            param="tools",
        )
    functions = [as_dict(tool.get("function")) for tool in tools]
    for index, function in enumerate(functions):
        place = f"tools[{index}].function"
        if not function.get("name"):
            raise missing(f"{place}.name")
        check_function(
            str(function["name"]),
            function.get("parameters", {"type": "object"}),
            place,
            strict=rules.subset if function.get("strict") else None,
            named=rules.errors != "mistral",
        )
    _check_choice(body, functions, rules)


def _check_choice(body: Json, functions: list[Json], rules: ChatRules) -> None:
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
        name = as_dict(as_dict(choice).get("function")).get("name")
        if name not in [function.get("name") for function in functions]:
            raise Refused(f"Tool choice '{name}' not found in 'tools'.", param="tool_choice")


def _thinks(body: Json) -> bool:
    return bool(as_dict(body.get("thinking")).get("type", "enabled") != "disabled")


def _check_format(body: Json, rules: ChatRules) -> None:
    response_format = as_dict(body.get("response_format"))
    kind = response_format.get("type")
    if kind == "json_schema" and not rules.json_schema:
        raise Refused("This response_format type is unavailable now", param="response_format")
    if kind == "json_object" and "json" not in str(body["messages"]).lower():
        raise Refused(
            "'messages' must contain the word 'json' in some form, to use 'response_format' "
            "of type 'json_object'.",
            param="messages",
        )
    if kind == "json_schema" and rules.subset is OPENAI:
        check_output_schema(
            as_dict(response_format.get("json_schema")), "response_format.json_schema"
        )


def _check_openai_model(exchange: Exchange) -> None:
    body, model = exchange.body, exchange.model
    effort: Any = body.get("reasoning_effort")
    rules = check_reasoning(body, model, effort, "reasoning_effort")
    if rules.efforts and body.get("max_tokens") is not None:
        raise unsupported("max_tokens", "Use 'max_completion_tokens' instead.")
    functions = [t for t in as_dicts(body.get("tools")) if t.get("type") == "function"]
    if functions and not rules.takes_functions(effort):
        raise Refused(
            f"Function tools with reasoning_effort are not supported for {model} in "
            "/v1/chat/completions. To use function tools, use /v1/responses or set "
            "reasoning_effort to 'none'.",
            param="reasoning_effort",
        )
