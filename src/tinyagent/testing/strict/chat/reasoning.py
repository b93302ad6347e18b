"""Chat completions: whether the reasoning of a turn comes back as each provider requires.

If the provider only loses the reasoning, the request passes and the session records the loss.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from tinyagent.testing.strict.session import (
    Issued,
    Json,
    ProviderExchange,
    Refused,
    as_dict,
    as_dicts,
)

_DUMMY = "skip_thought_signature_validator"
DUMMY_SIGNATURES = (_DUMMY, b64encode(_DUMMY.encode()).decode())
"""What replaces the signature of a call by another model: as text, and as bytes in JSON."""
_OPENROUTER = "https://openrouter.ai/docs/guides/best-practices/reasoning-tokens"
_STRICT_UPSTREAM = ("google/gemini-3", "deepseek/deepseek-v4")


def _assistants(exchange: ProviderExchange) -> list[tuple[int, Json, list[Issued]]]:
    """Each assistant message with its index and the turns of this server that it may repeat."""
    assistants: list[tuple[int, Json, list[Issued]]] = []
    for index, message in enumerate(as_dicts(exchange.body["messages"])):
        if message.get("role") == "assistant":
            ids = [str(call.get("id")) for call in as_dicts(message.get("tool_calls"))]
            content = message.get("content")
            parts = "".join(str(part.get("text", "")) for part in as_dicts(content))
            text = content if isinstance(content, str) else parts
            assistants.append((index, message, exchange.session.turns_of(ids, text)))
    return assistants


def _last_user(exchange: ProviderExchange) -> int:
    roles = [message.get("role") for message in as_dicts(exchange.body["messages"])]
    return max((index for index, role in enumerate(roles) if role == "user"), default=-1)


def is_thinking(exchange: ProviderExchange) -> bool:
    """Whether a model that thinks unasked does so in this request."""
    return as_dict(exchange.body.get("thinking")).get("type") != "disabled"


def _check_deepseek(exchange: ProviderExchange) -> None:
    """Required: all turns with calls; with tools, also all turns after the last user message."""
    if not is_thinking(exchange):
        return
    last_user = _last_user(exchange)
    for index, message, _ in _assistants(exchange):
        recent = bool(exchange.body.get("tools")) and index > last_user
        if (message.get("tool_calls") or recent) and "reasoning_content" not in message:
            raise Refused(
                "The reasoning_content in the thinking mode must be passed back to the API."
            )
    _note_losses(exchange)


def _check_kimi(exchange: ProviderExchange) -> None:
    thinking = as_dict(exchange.body.get("thinking"))
    keeps = ("kimi-k2.6", "kimi-k2.7-code", "kimi-k3")
    if thinking.get("keep") == "all" and not exchange.model.startswith(keeps):
        raise Refused("thinking.keep is not supported for this model")
    if not is_thinking(exchange):
        if re.search(r"k2\.[7-9]|k[3-9]", exchange.model):
            raise Refused("invalid thinking: only type=enabled is allowed for this model")
        return
    for index, message, _ in _assistants(exchange):
        if message.get("tool_calls") and not message.get("reasoning_content"):
            raise Refused(
                "thinking is enabled but reasoning_content is missing in assistant tool call "
                f"message at index {index}"
            )
    _note_losses(exchange)


def _check_gemini(exchange: ProviderExchange) -> None:
    """The first call of each step of the current turn needs its signature."""
    last_user = _last_user(exchange)
    for index, message, _ in _assistants(exchange):
        for position, call in enumerate(as_dicts(message.get("tool_calls"))):
            google = as_dict(as_dict(call.get("extra_content")).get("google"))
            function = as_dict(call.get("function"))
            needed = position == 0 and index > last_user
            arguments = _parsed(function.get("arguments"))
            check_signature(
                exchange,
                google.get("thought_signature"),
                (str(function.get("name")), arguments),
                place=index + 1 if needed else None,
            )


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise Refused("Function call arguments are not valid JSON.") from None


def check_signature(
    exchange: ProviderExchange, signature: Any, call: tuple[str, Any], *, place: int | None
) -> None:
    """Check the thought signature of a function call of Gemini.

    Args:
        exchange: The request.
        signature: From the request; None if there is none.
        call: The name and the arguments of the call.
        place: The number of the turn if it needs a signature; otherwise None.
    """
    if not signature:
        if place is not None and not exchange.model.startswith("gemini-2"):
            raise Refused(
                "Function call is missing a thought_signature in functionCall parts. This is "
                "required for tools to work correctly, and missing thought_signature may lead to "
                "degraded model performance. Additional data, function call "
                f"`default_api:{call[0]}` , position {place}. Please refer to "
                "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )
        return
    if signature in DUMMY_SIGNATURES:
        return
    for turn in exchange.session.turns:
        if turn.opaque == signature and turn.model == exchange.model:
            first = turn.output.calls[0] if turn.output.calls else None
            if first is not None and (first.name, dict(first.arguments)) == call:
                return
    raise Refused("Corrupted thought signature.")


def _check_openrouter(exchange: ProviderExchange) -> None:
    last_user = _last_user(exchange)
    for index, message, turns in _assistants(exchange):
        issued = [_joined(turn.opaque) for turn in turns if turn.opaque]
        details = as_dicts(message.get("reasoning_details"))
        if not issued or _joined(details) in issued:
            continue
        if details:
            raise _upstream("Invalid `signature` in `thinking` block", exchange.model)
        needed = bool(message.get("tool_calls")) and index > last_user
        if needed and exchange.model.startswith(_STRICT_UPSTREAM):
            raise _upstream(_missing_details(exchange.model), exchange.model)
        exchange.lose(f"messages[{index}]: reasoning_details did not come back")


def _joined(details: list[Json]) -> list[Json]:
    """Details with the pieces of a stream joined by type and index, without what is null.

    Whether pieces may come back as they were streamed, and a null be left out, is not documented.
    """
    joined: list[Json] = []
    for detail in details:
        present = {key: value for key, value in detail.items() if value is not None}
        last = joined[-1] if joined else {}
        if [last.get(key) for key in ("type", "index")] == [
            present.get("type"),
            present.get("index"),
        ]:
            text = f"{last.get('text', '')}{present.get('text', '')}"
            joined[-1] = {**last, **present, "text": text}
        else:
            joined.append(present)
    return joined


def _missing_details(model: str) -> str:
    if model.startswith("google/"):
        return (
            "Gemini models require OpenRouter reasoning details to be preserved in each request. "
            f"Please refer to our docs: {_OPENROUTER}#preserving-reasoning-blocks. Upstream "
            'error: {"error": {"code": 400, "message": "Function call is missing a '
            'thought_signature in functionCall parts.", "status": "INVALID_ARGUMENT"}}'
        )
    return "The reasoning_content in the thinking mode must be passed back to the API."


def _upstream(raw: str, model: str) -> Refused:
    names = {"google": "Google AI Studio", "anthropic": "Anthropic", "deepseek": "DeepSeek"}
    provider = names.get(model.partition("/")[0], "Upstream")
    return Refused("Provider returned error", detail={"raw": raw, "provider_name": provider})


def _thoughts_in(message: Json) -> str:
    """All text of a message that may be reasoning, with streamed pieces joined."""
    names = ("reasoning_content", "reasoning", "content")
    texts = [message[name] for name in names if isinstance(message.get(name), str)]
    for part in as_dicts(message.get("content")):
        texts += [piece.get("text") for piece in as_dicts(part.get("thinking"))]
    texts += [detail.get("text") for detail in as_dicts(message.get("reasoning_details"))]
    return "".join(map(str, texts))


def _note_losses(exchange: ProviderExchange) -> None:
    """Record each turn of this server whose reasoning is missing from the message."""
    for index, message, turns in _assistants(exchange):
        returned = _thoughts_in(message)
        if turns and not any((turn.output.reasoning or "") in returned for turn in turns):
            exchange.lose(f"messages[{index}]: the reasoning did not come back unchanged")


CHECKS: dict[str, Callable[[ProviderExchange], None]] = {
    "deepseek": _check_deepseek,
    "kimi": _check_kimi,
    "gemini": _check_gemini,
    "openrouter": _check_openrouter,
    "loss": _note_losses,
}
