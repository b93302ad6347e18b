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
from tinyagent.testing.strict.openai import AFTER_CALL, EQUAL_NUMBER, WORDS
from tinyagent.testing.strict.rules import Node, RuleTable
from tinyagent.testing.strict.schemas import GEMINI, fault
from tinyagent.testing.strict.script import Output
from tinyagent.testing.strict.session import (
    Issued,
    Json,
    ProviderExchange,
    Refused,
    as_dict,
    as_list,
    at,
    pieces,
    render,
    tokens,
)

_NO_MINIMAL = ("gemini-3-pro", "gemini-3.1-pro", "gemini-3.7-flash")
_LIMIT = 100 << 20
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
}
_OPAQUE = ("args", "response", "parameters", "parametersJsonSchema", "responseJsonSchema")
_DATA = (
    "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult "
    "toolCall toolResponse"
)
_TABLE = """
.  keys :request
    Invalid JSON payload received. Unknown name "{key}": Cannot find field.
tools[*].functionDeclarations[*].name  like [a-zA-Z_][a-zA-Z0-9_.:-]{0,127}
    * GenerateContentRequest.{snake}: Invalid function name. Must start with a letter or an
    underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or
    dashes (-), with a maximum length of 128.\\n
tools[*].functionDeclarations[*]  test one-schema
    * GenerateContentRequest.{snake}: parameters and parameters_json_schema are mutually
    exclusive\\n
tools[*].functionDeclarations[*].parametersJsonSchema  test object-schema
    * GenerateContentRequest.{snake}: schema should be of type object\\n
tools[*].functionDeclarations[*].parametersJsonSchema  check schema
toolConfig.functionCallingConfig.mode  if-any AUTO ANY NONE VALIDATED MODE_UNSPECIFIED  :value
generationConfig.responseJsonSchema  test json-asked
    * GenerateContentRequest.{snake}: response_mime_type must be application/json when a schema is
    set\\n
generationConfig.responseJsonSchema  check schema
generationConfig.thinkingConfig  test one-setting
    You can only set only one of thinking budget and thinking level.
generationConfig.thinkingConfig.thinkingLevel  test level  :value
generationConfig.thinkingConfig.thinkingLevel  absent  when gemini-2
    Thinking level is not supported for this model.
generationConfig.thinkingConfig.thinkingLevel  test not-minimal
    Thinking level MINIMAL is not supported for this model.
generationConfig.thinkingConfig.thinkingBudget  test thinks
    Budget 0 is invalid. This model only works in thinking mode.
contents  filled
    * GenerateContentRequest.contents: contents is not specified\\n
contents  objects  :objects
contents[*].role  if-any user model function
    Please use a valid role: user, model.
contents[*]  keys role parts  :unknown
contents[*].parts  test not-empty
    * GenerateContentRequest.{at}: contents.parts must not be empty.\\n
contents[*].parts[*]  keys :part  :unknown
contents[*].parts[*]  test one-data
    * GenerateContentRequest.{at}.data: required oneof field 'data' must have one initialized
    field\\n
contents[*].parts[*].inlineData  check media
contents[*].parts[*].functionCall.name  like [a-zA-Z_][a-zA-Z0-9_.:-]{0,127}  when inside  :name
contents[*].parts[*].functionResponse.name  filled  when inside  :name
contents[*].parts[*].functionResponse.response  object  when present  :value
contents[*].parts[*].functionResponse.parts[*]  test no-media
    Multimodal function responses are not supported for this model.
contents[*].parts[*].functionResponse.parts[*].inlineData  check media
.  check turns
.  check signatures
"""
_WORDS = {
    "objects": WORDS["objects"],
    "value": "Invalid value at '{snake}', \"{value}\"",
    "name": "* GenerateContentRequest.{snake}: Name cannot be empty.\n",
    "unknown": "Invalid JSON payload received. Unknown name \"{key}\" at '{up}': Cannot find "
    "field.",
    "request": "contents systemInstruction tools toolConfig safetySettings generationConfig "
    "cachedContent labels serviceTier store model",
    "part": f"{_DATA} thought thoughtSignature videoMetadata partMetadata mediaResolution "
    "mediaProcessing",
}
_AFTER_USER = (
    "Please ensure that function call turn comes immediately after a user turn or after a "
    "function response turn."
)


def check(exchange: ProviderExchange) -> None:
    """Refuse what Gemini refuses."""
    exchange.body = _camel(exchange.body)
    _REQUEST.check(exchange)


def _camel(value: Any) -> Any:
    """The value with the names of fields in camel case, except in what the program defines."""
    if isinstance(value, list):
        return [_camel(item) for item in as_list(value)]
    if not isinstance(value, dict):
        return value
    fields: Json = {}
    for key, field in as_dict(value).items():
        name = re.sub(r"_([a-z])", lambda m: m[1].upper(), key)
        fields[name] = field if name in _OPAQUE else _camel(field)
    return fields


def _check_schema(node: Node) -> None:
    mismatch = None if node.value is None else fault(node.value, GEMINI)
    if mismatch is not None:
        path = "".join(f".{step}" for step in mismatch[0])
        words = "* GenerateContentRequest.{snake}{path}: {problem}\n"
        raise node.refused(words, path=path, problem=mismatch[1])


def _check_media(node: Node) -> None:
    if node.value is None:
        return
    media_type = str(node.get("mimeType") or "")
    if not media_type:
        raise node.refused("Unable to process input: {up} has no mime_type")
    if not media_type.startswith("image/") and media_type != "application/pdf":
        return
    try:
        data = standard(str(node.get("data") or ""))
        node.exchange.attachments.append(decode(data, media_type, limit=_LIMIT))
    except Refused as refused:
        if "base64" in refused.message:
            raise node.refused("Invalid value at '{snake}.data' (TYPE_BYTES)") from None
        raise Refused("Unable to process input image. Please retry or report in") from None


def standard(text: str) -> str:
    """Base64 in its standard alphabet, padded: protobuf's JSON accepts both alphabets."""
    plain = text.replace("-", "+").replace("_", "/").rstrip("=")
    return plain + "=" * (-len(plain) % 4)


def _check_turns(node: Node) -> None:
    """A call follows the user or results; its results follow at once, alone in one content."""
    calls: list[Json] = []
    before = "model"
    for content in node.get("contents"):
        own, role = content["parts"], content.get("role", "user")
        responses = [as_dict(p["functionResponse"]) for p in own if "functionResponse" in p]
        if responses:
            if not calls:
                raise Refused(AFTER_CALL)
            if len(responses) != len(calls) or len(responses) != len(own):
                raise Refused(EQUAL_NUMBER)
            _match(calls, responses)
        elif calls:
            raise Refused(EQUAL_NUMBER)
        calls = [as_dict(p["functionCall"]) for p in own if "functionCall" in p]
        if calls and (role != "model" or before == "model"):
            raise Refused(_AFTER_USER)
        before = role
    if calls:
        raise Refused(EQUAL_NUMBER)


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


def _is_gemini_2(node: Node) -> bool:
    return node.exchange.model.startswith("gemini-2")


def _check_signatures(node: Node) -> None:
    """The first call of each step of the current turn needs its signature."""
    contents = node.get("contents")
    last = max((index for index, each in enumerate(contents) if _is_question(each)), default=-1)
    for index, content in enumerate(contents):
        calls = [part for part in content["parts"] if "functionCall" in part]
        for number, part in enumerate(calls):
            signature = part.get("thoughtSignature")
            check_signature(
                node.exchange,
                signature if signature in DUMMY_SIGNATURES else standard(str(signature or "")),
                (str(at(part, "functionCall.name")), at(part, "functionCall.args") or {}),
                place=index + 1 if number == 0 and index > last else None,
            )


def _is_question(content: Json) -> bool:
    return content.get("role", "user") == "user" and "functionResponse" not in content["parts"][0]


_REQUEST = RuleTable(
    _TABLE,
    _WORDS,
    functions={
        "schema": _check_schema,
        "media": _check_media,
        "turns": _check_turns,
        "signatures": _check_signatures,
        "one-schema": lambda node: (
            None in (node.get("parameters"), node.get("parametersJsonSchema"))
        ),
        "object-schema": lambda node: node.value is None or node.get("type") == "object",
        "json-asked": lambda node: (
            node.value is None or node.parent.get("responseMimeType") == "application/json"
        ),
        "one-setting": lambda node: None in (node.get("thinkingLevel"), node.get("thinkingBudget")),
        "level": lambda node: (
            str(node.value).upper() in ("NONE", "MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH")
        ),
        "gemini-2": _is_gemini_2,
        "not-minimal": lambda node: (
            str(node.value).upper() != "MINIMAL" or not node.exchange.model.startswith(_NO_MINIMAL)
        ),
        "thinks": lambda node: node.value != 0 or "pro" not in node.exchange.model,
        "not-empty": lambda node: bool(as_list(node.value)),
        "one-data": lambda node: sum(key in as_dict(node.value) for key in _DATA.split()) == 1,
        "inside": lambda node: bool(node.parent),
        "present": lambda node: "response" in node.parent,
        "no-media": lambda node: not _is_gemini_2(node),
    },
)


def refuse(refused: Refused) -> Reply:
    """A refusal in the form of Gemini."""
    status = _STATUS.get(refused.status, "INTERNAL")
    error = {"code": refused.status, "message": refused.message, "status": status}
    return json_reply({"error": error}, status=refused.status)


def reply(exchange: ProviderExchange, output: Output) -> Reply:
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
    steps = [*_streamed(exchange, output), *_calls(output, ids, signature)]
    if not output.calls:
        steps.append({"text": "", "thoughtSignature": signature})
    chunks: list[Json] = []
    for number, part in enumerate(steps):
        ending = end if number == len(steps) - 1 else {"index": 0}
        step: Json = {"content": {"role": "model", "parts": [part]}, **ending}
        chunks.append({"candidates": [step], "usageMetadata": usage, **frame})
    if output.error:
        chunks[-1] = {"error": {"code": 500, "message": output.error, "status": "INTERNAL"}}
    return _written(exchange, chunks)


def _written(exchange: ProviderExchange, chunks: list[Json]) -> Reply:
    if exchange.request.query.get("alt") != "sse":
        return json_reply(chunks)
    body = b"".join(f"data: {json.dumps(chunk)}\r\n\r\n".encode() for chunk in chunks)
    return Reply(body, content_type="text/event-stream")


def _shows_thoughts(exchange: ProviderExchange) -> bool:
    return bool(at(exchange.body, "generationConfig.thinkingConfig.includeThoughts"))


def _spoken(exchange: ProviderExchange, output: Output, signature: str) -> list[Json]:
    parts: list[Json] = []
    if output.reasoning is not None and _shows_thoughts(exchange):
        parts.append({"text": output.reasoning, "thought": True})
    if output.text is not None:
        signed = {} if output.calls else {"thoughtSignature": signature}
        parts.append({"text": output.text, **signed})
    return parts


def _streamed(exchange: ProviderExchange, output: Output) -> list[Json]:
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


def _usage(exchange: ProviderExchange, output: Output) -> Json:
    body = exchange.body
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
