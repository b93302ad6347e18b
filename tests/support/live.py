"""Tries each capability once with real providers: `make test-live`, or `live.py openai:gpt-4.1 …`.

A provider is tried where its key is in the environment; the others are listed with the variable to
set. It costs money, and CI never runs it. What it prints is the state of docs/models.md's table
with the real servers.
"""

from __future__ import annotations

import asyncio
import os
import struct
import sys
import zlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from tinyagent import (
    ConfigurationError,
    Document,
    Image,
    Model,
    ReactAgent,
    RunResult,
    TinyAgentError,
)
from tinyagent.core import Reasoning
from tinyagent.core.cost import Cost
from tinyagent.core.messages import Task
from tinyagent.models.base import get_model
from tinyagent.models.providers import PROVIDERS

MODELS = (
    "openai:gpt-4.1-mini",
    "openai-responses:gpt-5.5",
    "anthropic:claude-sonnet-5",
    "gemini:gemini-3-flash-preview",
    "deepseek:deepseek-chat",
    "kimi:kimi-k2.5",
    "mistral:magistral-medium-latest",
    "openrouter:anthropic/claude-sonnet-5",
    "groq:openai/gpt-oss-120b",
    "xai:grok-4",
    "minimax:MiniMax-M2",
    "dashscope:qwen3-max",
    "ollama:qwen3",
    "vllm:Qwen/Qwen3-8B",
    "lmstudio:qwen3-8b",
    "llamacpp:qwen3-8b",
)
Check = Callable[[Model], Awaitable[tuple[bool, RunResult[Any]]]]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def tools(model: Model) -> tuple[bool, RunResult[Any]]:
    """A call and its result."""
    result = await ReactAgent(model, [add]).run("What is 20482 + 91? Use the tool.")
    return "20573" in str(result).replace(",", "") and len(result.steps) > 0, result


async def strict_schema(model: Model) -> tuple[bool, RunResult[Any]]:
    """An answer held to a schema."""
    agent = ReactAgent(model, output_type=int, tool_calling_mode="structured")
    result = await agent.run("How many legs have three spiders?")
    return result.output == 24, result


async def reasoning(model: Model) -> tuple[bool, RunResult[Any]]:
    """Reasoning that goes back with the result of a call."""
    agent = ReactAgent(model, [add], reasoning="low")
    result = await agent.run("What is 20482 + 91? Use the tool.")
    parts = [part for message in result.memory.messages for part in message.parts]
    thought = any(isinstance(part, Reasoning) or getattr(part, "opaque", None) for part in parts)
    return thought and "20573" in str(result).replace(",", ""), result


async def images(model: Model) -> tuple[bool, RunResult[Any]]:
    """A red square."""
    asked: Task = ["Which colour has this square? Answer with one word.", Image(_red_square())]
    result = await ReactAgent(model).run(asked)
    return "red" in str(result).lower(), result


async def documents(model: Model) -> tuple[bool, RunResult[Any]]:
    """A PDF of one word."""
    asked: Task = ["Which word is in this document?", Document(_pdf("cerulean"))]
    result = await ReactAgent(model).run(asked)
    return "cerulean" in str(result).lower(), result


async def caching(model: Model) -> tuple[bool, RunResult[Any]]:
    """The second request pays less for the beginning it shares with the first."""
    agent = ReactAgent(model, [add], instructions="Be exact and brief. " * 1_500)
    result = await agent.run("What is 20482 + 91? Use the tool.")
    return result.usage.cached_tokens > 0, result


CHECKS: tuple[Check, ...] = (tools, strict_schema, reasoning, images, documents, caching)


def variable(name: str) -> str:
    """What to set so that a model is tried."""
    provider = PROVIDERS[name.partition(":")[0].removesuffix("-responses")]
    return f"{provider.variables}_{'API_KEY' if provider.needs_key else 'BASE_URL'}"


async def main(names: tuple[str, ...]) -> int:
    """Try the models; 0 if all that were tried succeeded or none was, 1 if something failed."""
    if "CI" in os.environ:
        sys.stderr.write("Real providers are not called in CI.\n")
        return 2
    failed = False
    if not any(os.environ.get(variable(name)) for name in names):
        sys.stdout.write("nothing was tried: no key is set; set one of the variables below\n")
    for name in names:
        if not os.environ.get(variable(name)):
            _say(name, "skipped:", f"set {variable(name)}")
            continue
        failed = await _try(name) or failed
    return int(failed)


async def _try(name: str) -> bool:
    """Whether something failed."""
    cost, failed = Cost(), False
    result: RunResult[Any] | None
    for check in CHECKS:
        try:
            ok, result = await check(get_model(name))
        except TinyAgentError as error:
            ok, said, result = False, f"{type(error).__name__}: {error}", error.result
        else:
            said = str(result)
        if isinstance(result, RunResult):
            cost += result.cost
        failed = failed or not ok
        verdict = "ok" if ok else f"FAILED: {' '.join(said.split())[:200]}"
        _say(name, check.__name__, verdict)
    _say(name, "cost", str(cost))
    return failed


def _say(name: str, what: str, text: str) -> None:
    sys.stdout.write(f"{name:38} {what:14} {text}\n")
    sys.stdout.flush()


def _red_square(side: int = 64) -> bytes:
    rows = zlib.compress((b"\0" + b"\xff\0\0" * side) * side)
    chunks = ((b"IHDR", struct.pack(">2I5B", side, side, 8, 2, 0, 0, 0)), (b"IDAT", rows))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in (*chunks, (b"IEND", b""))
    )


def _pdf(word: str) -> bytes:
    stream = f"BT /F1 40 Tf 40 80 Td ({word}) Tj ET".encode()
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        (
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 200]/Contents 4 0 R"
            b"/Resources<</Font<</F1 5 0 R>>>>>>"
        ),
        b"<</Length %d>>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    out, places = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    end = b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n"
    return out + head + table + end % (len(objects) + 1, len(out))


def _given(arguments: list[str]) -> Iterator[str]:
    for name in arguments:
        provider, colon, _ = name.partition(":")
        if not colon or provider.removesuffix("-responses") not in PROVIDERS:
            raise ConfigurationError(f"{name!r} is not of the form provider:model")
        yield name


if __name__ == "__main__":
    try:
        chosen = tuple(_given(sys.argv[1:])) or MODELS
    except ConfigurationError as fault:
        sys.exit(f"Error: {fault}")
    sys.exit(asyncio.run(main(chosen)))
