"""Gemini's generateContent: requests, and replies whole or as a stream without an end mark.

Whether a conversation may end with the model's turn is not documented: it passes. Field names are
accepted in both spellings of protobuf's JSON, `inlineData` and `inline_data`.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tinyagent.testing.http import Reply, json_reply
from tinyagent.testing.strict.chat.reasoning import DUMMY_SIGNATURES, check_signature
from tinyagent.testing.strict.media import decode
from tinyagent.testing.strict.schemas import GEMINI, fault
from tinyagent.testing.strict.script import Output
from tinyagent.testing.strict.session import (
    Exchange,
    Issued,
    Json,
    Refused,
    as_dict,
    as_dicts,
    as_list,
    pieces,
    render,
    tokens,
    typed_list,
    words,
)

_BODY = words(
    "contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent "
    "labels serviceTier store model"
)
_DATA = words(
    "text inlineData fileData functionCall functionResponse executableCode "
    "codeExecutionResult toolCall toolResponse"
)
_PART = _DATA | words(
    "thought thoughtSignature videoMetadata partMetadata mediaResolution mediaProcessing"
)
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
_MODES = ("AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED")
_LEVELS = ("MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH")
_NO_MINIMAL = ("gemini-3-pro", "gemini-3.1-pro", "gemini-3.7-flash")
_LIMIT = 100 << 20
_STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED"}
_AFTER_CALL = (
    "Please ensure that function response turn comes immediately after a function call turn."
)
_AFTER_USER = (
    "Please ensure that function call turn comes immediately after a user turn or after a "
    "function response turn."
)
_EQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn."
)


def camel(value: Any) -> Json:
    """The object with the names of its own fields in camel case."""
    fields = as_dict(value).items()
    return {re.sub(r"_([a-z])", lambda m: m[1].upper(), key): field for key, field in fields}


def check(exchange: Exchange) -> None:
    """Refuse what Gemini refuses."""
    body = camel(exchange.body)
    for key in body:
        if key not in _BODY:
            raise _unknown(key)
    for index, tool in enumerate(as_dicts(body.get("tools"))):
        for number, function in enumerate(as_dicts(camel(tool).get("functionDeclarations"))):
            place = f"GenerateContentRequest.tools[{index}].function_declarations[{number}]"
            _check_function(camel(function), place)
    calling = camel(camel(body.get("toolConfig")).get("functionCallingConfig"))
    if calling.get("mode", "AUTO") not in _MODES:
        raise _invalid("tool_config.function_calling_config.mode", calling["mode"])
    _check_config(exchange, camel(body.get("generationConfig")))
    contents = typed_list(body, "contents") if body.get("contents") else []
    if not contents:
        raise Refused("* GenerateContentRequest.contents: contents is not specified\n")
    parts = [_parts(exchange, content, index) for index, content in enumerate(contents)]
    _check_turns(contents, parts)
    _check_signatures(exchange, parts)


def _unknown(name: str, place: str = "") -> Refused:
    where = f" at '{place}'" if place else ""
    return Refused(
        f'Invalid JSON payload received. Unknown name "{name}"{where}: Cannot find field.'
    )


def _invalid(place: str, value: Any) -> Refused:
    return Refused(f"Invalid value at '{place}', \"{value}\"")


def _check_function(function: Json, place: str) -> None:
    if not _NAME.fullmatch(str(function.get("name", ""))):
        raise Refused(
            f"* {place}.name: Invalid function name. Must start with a letter or an underscore. "
            "Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or "
            "dashes (-), with a maximum length of 128.\n"
        )
    schema = function.get("parametersJsonSchema")
    if schema is None:
        return
    if function.get("parameters") is not None:
        raise Refused(f"* {place}: parameters and parameters_json_schema are mutually exclusive\n")
    if as_dict(schema).get("type") != "object":
        raise Refused(f"* {place}.parameters_json_schema: schema should be of type object\n")
    _check_schema(schema, f"{place}.parameters_json_schema")


def _check_schema(schema: Any, place: str) -> None:
    mismatch = fault(schema, GEMINI)
    if mismatch is not None:
        path = ".".join((place, *mismatch[0]))
        raise Refused(f"* {path}: {mismatch[1]}\n")


def _check_config(exchange: Exchange, config: Json) -> None:
    schema = config.get("responseJsonSchema")
    if schema is not None:
        if config.get("responseMimeType") != "application/json":
            raise Refused(
                "* GenerateContentRequest.generation_config.response_json_schema: "
                "response_mime_type must be application/json when a schema is set\n"
            )
        _check_schema(schema, "GenerateContentRequest.generation_config.response_json_schema")
    thinking, model = camel(config.get("thinkingConfig")), exchange.model
    level, budget = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    if level is not None and budget is not None:
        raise Refused("You can only set only one of thinking budget and thinking level.")
    if level is not None and str(level).upper() not in _LEVELS:
        raise _invalid("generation_config.thinking_config.thinking_level", level)
    if level is not None and model.startswith("gemini-2"):
        raise Refused("Thinking level is not supported for this model.")
    if str(level).upper() == "MINIMAL" and model.startswith(_NO_MINIMAL):
        raise Refused("Thinking level MINIMAL is not supported for this model.")
    if budget == 0 and "pro" in model:
        raise Refused("Budget 0 is invalid. This model only works in thinking mode.")


def _parts(exchange: Exchange, content: Json, index: int) -> list[Json]:
    """The parts of a content, checked one by one."""
    if content.get("role", "user") not in ("user", "model", "function"):
        raise Refused("Please use a valid role: user, model.")
    place = f"contents[{index}]"
    for key in content:
        if key not in ("role", "parts"):
            raise _unknown(key, place)
    parts = [camel(part) for part in as_list(content.get("parts"))]
    if not parts:
        raise Refused(
            f"* GenerateContentRequest.{place}.parts: contents.parts must not be empty.\n"
        )
    for number, part in enumerate(parts):
        where = f"{place}.parts[{number}]"
        for key in part:
            if key not in _PART:
                raise _unknown(key, where)
        if sum(key in part for key in _DATA) != 1:
            raise Refused(
                f"* GenerateContentRequest.{where}.data: required oneof field 'data' must have "
                "one initialized field\n"
            )
        _check_part(exchange, part, where)
    return parts


def _check_part(exchange: Exchange, part: Json, where: str) -> None:
    if "inlineData" in part:
        _keep(exchange, camel(part["inlineData"]), where)
    call = camel(part.get("functionCall"))
    if call and not _NAME.fullmatch(str(call.get("name", ""))):
        raise Refused(
            f"* GenerateContentRequest.{where}.function_call.name: Name cannot be empty.\n"
        )
    response = camel(part.get("functionResponse"))
    if not response:
        return
    if not response.get("name"):
        name = f"GenerateContentRequest.{where}.function_response.name"
        raise Refused(f"* {name}: Name cannot be empty.\n")
    if not isinstance(response.get("response", {}), dict):
        raise _invalid(f"{where}.function_response.response", response["response"])
    for inner in as_list(response.get("parts")):
        if exchange.model.startswith("gemini-2"):
            raise Refused("Multimodal function responses are not supported for this model.")
        _keep(exchange, camel(camel(inner).get("inlineData")), f"{where}.function_response")


def _keep(exchange: Exchange, blob: Json, where: str) -> None:
    media_type = str(blob.get("mimeType", ""))
    if not media_type:
        raise Refused(f"Unable to process input: {where} has no mime_type")
    if not media_type.startswith("image/") and media_type != "application/pdf":
        return
    data = standard(str(blob.get("data", "")))
    try:
        exchange.attachments.append(decode(data, media_type, limit=_LIMIT))
    except Refused as refused:
        if "base64" in refused.message:
            raise Refused(f"Invalid value at '{where}.inline_data.data' (TYPE_BYTES)") from None
        raise Refused("Unable to process input image. Please retry or report in") from None


def standard(text: str) -> str:
    """Base64 in its standard alphabet, padded: protobuf's JSON accepts both alphabets."""
    plain = text.replace("-", "+").replace("_", "/").rstrip("=")
    return plain + "=" * (-len(plain) % 4)


def _check_turns(contents: list[Json], parts: list[list[Json]]) -> None:
    """A call follows the user or results; its results follow at once, alone in one content."""
    calls: list[Json] = []
    for index, own in enumerate(parts):
        responses = [camel(p["functionResponse"]) for p in own if "functionResponse" in p]
        role = contents[index].get("role", "user")
        if responses:
            if not calls:
                raise Refused(_AFTER_CALL)
            if len(responses) != len(calls) or len(responses) != len(own):
                raise Refused(_EQUAL)
            _match(calls, responses)
        elif calls:
            raise Refused(_EQUAL)
        calls = [camel(p["functionCall"]) for p in own if "functionCall" in p]
        before = contents[index - 1].get("role", "user") if index else "model"
        if calls and (role != "model" or before == "model"):
            raise Refused(_AFTER_USER)
    if calls:
        raise Refused(_EQUAL)


def _match(calls: list[Json], responses: list[Json]) -> None:
    """Results match calls by id if there are ids, otherwise by name and order."""
    for position, response in enumerate(responses):
        name = response.get("id")
        same = [call for call in calls if call.get("id") == name] if name else [calls[position]]
        if not same or same[0].get("name") != response.get("name"):
            raise Refused(
                f"Function response {response.get('name')} does not match a function call of the "
                "previous turn."
            )


def _check_signatures(exchange: Exchange, parts: list[list[Json]]) -> None:
    """The first call of each step of the current turn needs its signature."""
    questions = [i for i, own in enumerate(parts) if _is_question(exchange, own, i)]
    for index, own in enumerate(parts):
        calls = [part for part in own if "functionCall" in part]
        for number, part in enumerate(calls):
            call = camel(part["functionCall"])
            signature = part.get("thoughtSignature")
            needed = number == 0 and index > max(questions, default=-1)
            check_signature(
                exchange,
                signature if signature in DUMMY_SIGNATURES else standard(str(signature or "")),
                (str(call.get("name")), call.get("args") or {}),
                place=index + 1 if needed else None,
            )


def _is_question(exchange: Exchange, parts: list[Json], index: int) -> bool:
    content = as_dicts(camel(exchange.body)["contents"])[index]
    return content.get("role", "user") == "user" and "functionResponse" not in parts[0]


def refuse(refused: Refused) -> Reply:
    """A refusal in the form of Gemini."""
    status = _STATUS.get(refused.status, "NOT_FOUND" if refused.status == 404 else "INTERNAL")  # noqa: PLR2004
    error = {"code": refused.status, "message": refused.message, "status": status}
    return json_reply({"error": error}, status=refused.status)


def reply(exchange: Exchange, output: Output) -> Reply:
    """The reply to a request that was accepted."""
    if output.error and not exchange.streams:
        raise Refused(output.error, status=500)
    signature = exchange.session.new_blob()
    ids = tuple(exchange.session.new_id("", 8) for _ in output.calls)
    exchange.session.turns.append(Issued(output, exchange.model, ids, signature))
    reason = "MAX_TOKENS" if output.cut else "SAFETY" if output.refusal is not None else "STOP"
    end: Json = {"finishReason": reason, "index": 0}
    usage = _usage(exchange, output)
    frame = {"modelVersion": exchange.model, "responseId": exchange.session.new_id()}
    if not exchange.streams:
        parts = [*_spoken(exchange, output, signature), *_calls(output, ids, signature)]
        candidate: Json = {"content": {"role": "model", "parts": parts}, **end}
        return json_reply({"candidates": [candidate], "usageMetadata": usage, **frame})
    steps = [[part] for part in _streamed(exchange, output)]
    steps += [[part] for part in _calls(output, ids, signature)]
    if not output.calls:
        steps.append([{"text": "", "thoughtSignature": signature}])
    chunks: list[Json] = []
    for number, parts in enumerate(steps):
        ending = end if number == len(steps) - 1 else {"index": 0}
        step: Json = {"content": {"role": "model", "parts": parts}, **ending}
        chunks.append({"candidates": [step], "usageMetadata": usage, **frame})
    if output.error:
        error = {"code": 500, "message": output.error, "status": "INTERNAL"}
        chunks[-1] = {"error": error}
    return _written(exchange, chunks)


def _written(exchange: Exchange, chunks: list[Json]) -> Reply:
    if exchange.request.query.get("alt") != "sse":
        return json_reply(chunks)
    body = b"".join(f"data: {json.dumps(chunk)}\r\n\r\n".encode() for chunk in chunks)
    return Reply(body, content_type="text/event-stream")


def _shows_thoughts(exchange: Exchange) -> bool:
    config = camel(camel(exchange.body).get("generationConfig"))
    return bool(camel(config.get("thinkingConfig")).get("includeThoughts"))


def _spoken(exchange: Exchange, output: Output, signature: str) -> list[Json]:
    parts: list[Json] = []
    if output.reasoning is not None and _shows_thoughts(exchange):
        parts.append({"text": output.reasoning, "thought": True})
    if output.text is not None:
        signed = {} if output.calls else {"thoughtSignature": signature}
        parts.append({"text": output.text, **signed})
    return parts


def _streamed(exchange: Exchange, output: Output) -> list[Json]:
    thought = output.reasoning if _shows_thoughts(exchange) else None
    thoughts: list[Json] = [{"text": piece, "thought": True} for piece in pieces(thought)]
    return [*thoughts, *({"text": piece} for piece in pieces(output.text))]


def _calls(output: Output, ids: tuple[str, ...], signature: str) -> list[Json]:
    """The calls; only the first of them is signed."""
    parts: list[Json] = []
    for call, name in zip(output.calls, ids, strict=True):
        function_call: Json = {"id": name, "name": call.name, "args": dict(call.arguments)}
        signed = {} if parts else {"thoughtSignature": signature}
        parts.append({"functionCall": function_call, **signed})
    return parts


def _usage(exchange: Exchange, output: Output) -> Json:
    body = camel(exchange.body)
    system: Any = [body["systemInstruction"]] if "systemInstruction" in body else []
    prompt = render([exchange.model], system, body.get("tools"), as_list(body["contents"]))
    cached, (answer, thinking) = exchange.session.cached(prompt), output.tokens
    usage = {
        "promptTokenCount": tokens(prompt),
        "candidatesTokenCount": answer,
        "totalTokenCount": tokens(prompt) + answer + thinking,
        "thoughtsTokenCount": thinking,
    }
    return {**usage, "cachedContentTokenCount": cached} if cached else usage
