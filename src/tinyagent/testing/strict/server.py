"""StrictServer: a provider on loopback that refuses what the real one is documented to refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from tinyagent.core.errors import ConfigurationError
from tinyagent.testing.http import HttpServer, Reply, Request
from tinyagent.testing.server import one_after_the_other
from tinyagent.testing.strict import gemini, responses_reply, responses_request
from tinyagent.testing.strict.anthropic import reply as anthropic_reply
from tinyagent.testing.strict.anthropic import request as anthropic_request
from tinyagent.testing.strict.chat import reply as chat_reply
from tinyagent.testing.strict.chat import request as chat_request
from tinyagent.testing.strict.chat.rules import CHAT, ChatRules
from tinyagent.testing.strict.media import Attachment
from tinyagent.testing.strict.script import Output, Received, StrictScript
from tinyagent.testing.strict.session import Json, ProviderExchange, Refused, Session, as_dict

_REQUEST_LIMIT = 32 << 20


@dataclass(frozen=True)
class ProviderEndpoint:
    """A path of a provider: how it checks a request, answers it, and words a refusal."""

    path: str
    check: Callable[[ProviderExchange], Any]
    reply: Callable[[ProviderExchange, Output, Any], Reply]
    refuse: Callable[[Refused], Reply]
    keyed: bool = True


def _chat(rules: ChatRules, path: str) -> ProviderEndpoint:
    return ProviderEndpoint(
        path,
        lambda exchange: chat_request.check(exchange, rules),
        lambda exchange, output, _: chat_reply.reply(exchange, output.joined(), rules),
        lambda refused: chat_reply.refuse(refused, rules),
        rules.keyed,
    )


_RESPONSES = ProviderEndpoint(
    r"/v1/responses",
    responses_request.check,
    responses_reply.reply,
    lambda refused: chat_reply.refuse(refused, CHAT["openai"]),
)
_GENERATE = ProviderEndpoint(
    r"/v1(beta)?/models/(?P<model>[^:/]+):(?P<method>generateContent|streamGenerateContent)",
    gemini.check,
    lambda exchange, output, _: gemini.reply(exchange, output.joined()),
    gemini.refuse,
)
_MESSAGES = ProviderEndpoint(
    r"/v1/messages",
    anthropic_request.check,
    lambda exchange, output, _: anthropic_reply.reply(exchange, output),
    anthropic_reply.refuse,
)
_MORE = {"openai": [_RESPONSES], "gemini": [_GENERATE]}
ENDPOINTS: dict[str, list[ProviderEndpoint]] = {
    name: [_chat(rules, f"{rules.base or '(/v1)?'}/chat/completions"), *_MORE.get(name, [])]
    for name, rules in CHAT.items()
} | {"anthropic": [_MESSAGES]}
PROVIDERS = tuple(ENDPOINTS)
"""The names of the providers."""


class StrictServer(HttpServer):
    """A provider's API on a free port of 127.0.0.1, as its documentation describes it.

    Use it as `async with StrictServer("anthropic", script) as server`. The script is a list, one
    answer a request that was accepted (after its end the last one is repeated), or a function of
    a `Received`. An answer is a text, an `Output`, or a `Reply` to the byte.

    Attributes:
        requests: The bodies of all requests, including refused ones.
        keys: Their API keys.
        refusals: The messages of all refusals.
        attachments: The images and documents of the last accepted request, decoded.
    """

    def __init__(self, provider: str, script: StrictScript) -> None:
        if provider not in ENDPOINTS:
            listed = ", ".join(PROVIDERS)
            raise ConfigurationError(f"there is no strict server for {provider!r}; use: {listed}")
        super().__init__(self._reply)
        self.provider = provider
        self._endpoints = ENDPOINTS[provider]
        self._script = script if callable(script) else one_after_the_other(script)
        self._session = Session()
        self.requests: list[Json] = []
        self.keys: list[str] = []
        self.refusals: list[str] = []
        self.attachments: tuple[Attachment, ...] = ()

    @property
    def base_url(self) -> str:
        """The base URL for the provider's clients."""
        return self.url + (CHAT[self.provider].base if self.provider in CHAT else "")

    @property
    def losses(self) -> list[str]:
        """What requests omitted although the model needs it, where the provider accepts that."""
        return self._session.losses

    def _reply(self, request: Request) -> Reply:
        for endpoint in self._endpoints:
            match = re.fullmatch(endpoint.path, request.path)
            if match is not None and request.method == "POST":
                try:
                    return self._answer_at(endpoint, request, match.groupdict())
                except Refused as refused:
                    if refused.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                        self.refusals.append(refused.message)
                    return endpoint.refuse(refused)
        missing = Refused(f"Invalid URL ({request.method} {request.path})", status=404)
        self.refusals.append(missing.message)
        return self._endpoints[0].refuse(missing)

    def _answer_at(
        self, endpoint: ProviderEndpoint, request: Request, path: dict[str, Any]
    ) -> Reply:
        body = _parsed(request)
        self.requests.append(body)
        self.keys.append(request.key)
        if endpoint.keyed and not request.key:
            raise Refused("Missing API key.", status=401)
        exchange = ProviderExchange(request, body, self._session)
        if path:
            exchange.model_in_path = path["model"]
            exchange.stream_in_path = path["method"].startswith("stream")
        checked = endpoint.check(exchange)
        self.attachments = tuple(exchange.attachments)
        answer = self._script(Received(request.path, request.headers, body, self.attachments))
        if isinstance(answer, Reply):
            return answer
        output = Output(answer) if isinstance(answer, str) else answer
        if as_dict(body.get("thinking")).get("type") == "disabled":
            output = output.without_reasoning()
        return endpoint.reply(exchange, output, checked)


def _parsed(request: Request) -> Json:
    if len(request.body) > _REQUEST_LIMIT:
        raise Refused("Request exceeds the maximum size", status=413)
    try:
        body = json.loads(request.body)
    except ValueError:
        raise Refused("We could not parse the JSON body of your request.") from None
    if not isinstance(body, dict):
        raise Refused("We could not parse the JSON body of your request.")
    return as_dict(body)
