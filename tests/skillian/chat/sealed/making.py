"""Sources with names of customers, and a model that obeys what it reads."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from skillian.chat.agent import Agent, AgentResponse, Conversation
from skillian.chat.opening import read_vocabulary
from skillian.chat.reading.briefing import read_briefing
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.skills.discovery import load_registry
from tinyagent import ScriptedModel, scripted_call
from tinyagent.core import ModelRequest

NAMES = ("Blue Harbor Ltd", "North Star & Sons", "O'Neil Brothers", "Green Hill AG", "Old Mill Inc")
SOURCES = """
connections: {here: files://.}
sources:
  ledger: &table
    connection: here
    table: ledger.csv
    dimensions:
      customer: {column: customer}
      company: {column: company, type: text}
    measures: {amount: {column: amount, aggregation: sum}}
  copy: {<<: *table, table: copy.csv}
"""
ASK = "Compare the amount of ledger and copy by customer"
BOTH = {"source_a": "ledger", "source_b": "copy"}
COMPARE = scripted_call("compare_sources", **BOTH, measures=["amount"], align_on=["customer"])
COMPARE_ROWS = scripted_call("compare_sources", **BOTH, key=["id"])

Script = Callable[[Sequence[dict[str, Any]]], Any]
"""From the results that a model has read, in order, its next reply."""


def code(text: str) -> Any:
    return scripted_call("run_python", code=text)


def csv(names: Iterable[str], amounts: Iterable[int]) -> str:
    rows = [
        f'{number},"{name.replace(chr(34), chr(34) * 2)}",1001,{amount}'
        for number, (name, amount) in enumerate(zip(names, amounts, strict=True))
    ]
    return "\n".join(["id,customer,company,amount", *rows])


def write(folder: Path, names: Sequence[str], other: Sequence[str] | None = None) -> Path:
    """Two ledgers whose amounts differ by 10, 20, 30 and so on, customer by customer."""
    count = range(1, len(names) + 1)
    (folder / "ledger.csv").write_text(csv(names, [1000 * n for n in count]))
    (folder / "copy.csv").write_text(csv(other or names, [1010 * n for n in count]))
    (folder / "sources.yaml").write_text(SOURCES)
    return folder / "sources.yaml"


@asynccontextmanager
async def chat(path: Path) -> AsyncGenerator[Callable[[Any], Agent]]:
    """Makes agents for the sources of a file."""
    async with DataServices(SourceRegistry.load(path)) as services:
        skills = load_registry(services)
        vocabulary = await read_vocabulary(services, skills)
        briefing = await read_briefing(services)
        yield lambda model: Agent(model, skills, vocabulary, briefing=briefing)
        await skills.aclose()


def read_by(request: ModelRequest) -> str:
    """All that a model reads of data: the prompt, results, and its own earlier words."""
    texts = [each.text for each in request.messages if each.role != "user"]
    texts += [json.dumps(dict(c.arguments)) for m in request.messages for c in m.tool_calls]
    return "\n".join(texts)


def results_in(request: ModelRequest) -> list[dict[str, Any]]:
    return [json.loads(each.text) for each in request.messages if each.role == "tool"]


async def answered(
    path: Path, *script: Any, question: str = ASK, before: Conversation | None = None
) -> tuple[AgentResponse, ScriptedModel, Conversation]:
    """Ask once; a function in the script makes its reply of the results that it can read."""
    replies = iter(script)

    def reply(request: ModelRequest) -> Any:
        made = next(replies)
        return made(results_in(request)) if callable(made) else made

    model = ScriptedModel(reply)
    async with chat(path) as agent:
        response, after = await agent(model).process(question, before)
    stored = after.to_list()
    stored[-1]["content"] = response.content  # as a session is stored
    return response, model, Conversation.from_list(stored)
