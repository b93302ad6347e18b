"""Language models that servers on this machine offer.

A server is asked only if the user runs `skillian models` or has set the model to `local`. Each
request is a GET of a documented list at a loopback address, without a key, with a short time limit
and a bounded reply.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

import aiohttp

LOCAL = "local"
"""The setting for the first model that a server on this machine offers."""

SECONDS = 2.0
MAX_REPLY_BYTES = 1024 * 1024
MAX_MODELS = 100
MAX_NAME = 200

_OLLAMA_PORT = {"": 11434, "http": 80, "https": 443}
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - read, not bound


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A program that serves models on this machine.

    Attributes:
        title: Its name.
        prefix: The provider in the setting of the model, such as `ollama` in `ollama:NAME`.
        origin: Its address.
        path: Where it lists its models.
        read: Returns the models in that list that answer questions on this machine.
        start: How to get a model.
    """

    title: str
    prefix: str
    origin: str
    path: str
    read: Callable[[Any], Iterable[object]]
    start: str


@dataclass(frozen=True, slots=True)
class LocalOffer:
    """What a server offers, as names for the setting; `problem` says why it offers nothing."""

    server: LocalServer
    models: tuple[str, ...] = ()
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The offer for JSON."""
        return {
            "server": self.server.title,
            "address": self.server.origin,
            "models": list(self.models),
            "problem": self.problem or None,
            "start": self.server.start,
        }


async def find_offers(servers: Iterable[LocalServer]) -> tuple[LocalOffer, ...]:
    """Ask all servers at once; one that does not answer has a `problem`."""
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    # A compressed reply could be much larger than it looks.
    headers = {"Accept-Encoding": "identity"}
    async with aiohttp.ClientSession(
        timeout=timeout, headers=headers, auto_decompress=False
    ) as session:
        return tuple(await asyncio.gather(*(_ask(session, server) for server in servers)))


async def chosen_model(name: str | None) -> str | None:
    """The model for a setting: `local` becomes the first offer of this machine.

    Args:
        name: The setting; any other value is returned as it is.

    Returns:
        The name of a model, or None, for the offline planner, if no server offers one.
    """
    if name is None or name.strip().lower() != LOCAL:
        return name
    offers = await find_offers(local_servers())
    return next((model for offer in offers for model in offer.models), None)


def local_servers() -> tuple[LocalServer, ...]:
    """The known servers, at their addresses in the environment or at their documented ports."""
    ollama = _origin("OLLAMA", ollama_url(os.environ.get("OLLAMA_HOST", "")))
    studio = _origin("LMSTUDIO", "http://127.0.0.1:1234/v1")
    llama = _origin("LLAMACPP", "http://127.0.0.1:8080/v1")
    vllm = _origin("VLLM", "http://127.0.0.1:8000/v1")
    pull = "ollama pull llama3.1:8b"
    load = "lms get MODEL, then: lms server start"
    run = "llama-server --jinja -m FILE.gguf"
    serve = "vllm serve MODEL --enable-auto-tool-choice --tool-call-parser PARSER"
    return (
        LocalServer("Ollama", "ollama", ollama, "/api/tags", _of_ollama, pull),
        LocalServer("LM Studio", "lmstudio", studio, "/api/v0/models", _of_lm_studio, load),
        LocalServer("llama.cpp", "llamacpp", llama, "/v1/models", _of_llama_cpp, run),
        LocalServer("vLLM", "vllm", vllm, "/v1/models", _of_vllm, serve),
    )


def _origin(variables: str, default: str) -> str:
    """The address of a server without the folder of its chat completions."""
    url = os.environ.get(f"{variables}_BASE_URL") or default
    return url.rstrip("/").removesuffix("/v1")


def ollama_url(host: str) -> str:
    """The address of Ollama's chat completions, reading `OLLAMA_HOST` as Ollama does.

    Args:
        host: `host`, `host:port` or a URL; empty means port 11434 of this machine.
    """
    scheme, _, rest = host.strip().strip("\"'").rpartition("://")
    address, _, path = rest.partition("/")
    name, port = _split(address)
    name = _ANYWHERE.get(name, name)
    shown = f"[{name}]" if ":" in name else name
    folder = f"/{path.strip('/')}" if path.strip("/") else ""
    return f"{scheme or 'http'}://{shown}:{port or _OLLAMA_PORT.get(scheme, 11434)}{folder}/v1"


def _split(address: str) -> tuple[str, str]:
    """Host and port of `host:port`, `[::1]:port`, `::1` or `:port`."""
    if address.startswith("["):
        name, _, port = address[1:].partition("]")
        return name, port.removeprefix(":")
    if address.count(":") > 1:
        return address, ""
    name, _, port = address.partition(":")
    return name, port


async def _ask(session: aiohttp.ClientSession, server: LocalServer) -> LocalOffer:
    if not _is_loopback(server.origin):
        return LocalOffer(server, problem="not asked, because it is not on this machine")
    try:
        async with session.get(server.origin + server.path, allow_redirects=False) as reply:
            if reply.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
                problem = "requires a key: set OPENAI_BASE_URL and OPENAI_API_KEY for it"
                return LocalOffer(server, problem=problem)
            body = await _bounded(reply) if reply.status == HTTPStatus.OK else b""
    except TimeoutError:
        return LocalOffer(server, problem=f"no answer in {SECONDS:g} s")
    except (aiohttp.ClientError, ValueError):  # ValueError: the address of OLLAMA_HOST is invalid
        return LocalOffer(server, problem="not running")
    return _read(server, body)


async def _bounded(reply: aiohttp.ClientResponse) -> bytes:
    """The body of a reply; of one that is too large, nothing."""
    body = b""
    async for chunk in reply.content.iter_chunked(65536):
        body += chunk
        if len(body) > MAX_REPLY_BYTES:
            return b""
    return body


def _read(server: LocalServer, body: bytes) -> LocalOffer:
    try:
        names = list(server.read(json.loads(body)))
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return LocalOffer(server, problem=f"another program answers there, not {server.title}")
    models = tuple(f"{server.prefix}:{name}" for name in names[:MAX_MODELS] if _is_name(name))
    return LocalOffer(server, models, "" if models else "running, without a model")


def _is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _is_name(name: object) -> bool:
    """Whether this is a name that can be shown and set."""
    return isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable()


def _of_ollama(reply: Any) -> Iterator[object]:
    """Models that run here; others only forward to a host elsewhere, or make vectors of texts."""
    for model in cast("Sequence[dict[str, Any]]", reply["models"]):
        details = cast("dict[str, Any]", model.get("details") or {})
        if not model.get("remote_host") and "bert" not in str(details.get("family")):
            yield model["name"]


def _of_lm_studio(reply: Any) -> Iterator[object]:
    """Models that write text; those in memory first."""
    models = cast("Sequence[dict[str, Any]]", reply["data"])
    for model in sorted(models, key=lambda model: model["state"] != "loaded"):
        if model["type"] in {"llm", "vlm"}:
            yield model["id"]


def _of_llama_cpp(reply: Any) -> Iterator[object]:
    return _owned_by("llamacpp", reply)


def _of_vllm(reply: Any) -> Iterator[object]:
    return _owned_by("vllm", reply)


def _owned_by(owner: str, reply: Any) -> Iterator[object]:
    """Models of a server that names itself; other programs list theirs in the same form.

    Raises:
        ValueError: Another program answered, such as skillian's own service on vLLM's port.
    """
    for model in cast("Sequence[dict[str, Any]]", reply["data"]):
        if model["owned_by"] != owner:
            raise ValueError(owner)
        yield model["id"]
