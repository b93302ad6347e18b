"""What provenance costs: labels in ten tool turns, and `apart` of a sealed agent.

python benchmarks/sealed.py

Ten tool turns read five times a list of mails and answer five times, with a policy and without
one: over HTTP, as agents run, and with a scripted model in the same process, where nothing but the
framework takes time. `apart` is compared with a new session that runs one line.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import TypedDict

from mock_server import mail_call
from pairs import Loop, Row, measure, ratio_row
from run import mock_server, show

from tinyagent import OpenAIModel, ReactAgent, Sandbox, ScriptedModel, Tool
from tinyagent.agents.code_sealed import SealedHelpers
from tinyagent.core import ModelRequest
from tinyagent.core.context import RunControl
from tinyagent.core.provenance import Label, Trust
from tinyagent.core.types import RawToolCall
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.models.base import Model
from tinyagent.provenance import Items, Provenance, Sink
from tinyagent.provenance.vault import Vault

ROUNDS = 30
TARGET = 2.0
TURNS = 10
PAIRS = 20
LABELS_TARGET = 1.05
TASK = "Tell anna@example.com when the meeting on Friday is"
MAIL = (
    "Dear all, the meeting on Friday is at ten, in room 7. Please bring the figures of the second"
    " quarter, which are at https://files.example.com/q2/figures, and tell Ben (ben@example.com)"
    " whether you come. The order 4711-0815 has been sent. Best wishes, {}"
)
Policies = dict[str, tuple[bool, Provenance]]


class Mail(TypedDict):
    """A mail."""

    sender: str
    subject: str
    text: str


def tools(*, items: bool) -> list[Tool]:
    """A mailbox; its results may say who wrote each mail."""

    async def read_mail() -> list[Mail]:
        """Read the mails of today."""
        return [
            {"sender": f"{name}@example.com", "subject": "Friday", "text": MAIL.format(name)}
            for name in ("anna", "ben", "carol")
        ]

    async def send_mail(to: str, text: str) -> str:
        """Send a mail."""
        return f"{len(text)} characters sent to {to}"

    results: Trust = Items(by="sender") if items else "untrusted"
    return [Tool.from_function(read_mail, results=results), Tool.from_function(send_mail)]


def policies() -> Policies:
    """Each policy with whether the tool says who wrote each mail."""
    readable, unmarked = (Sink(to=["user"], text=rule) for rule in ("readable", "unmarked"))
    return {
        "labels": (False, Provenance(free=["read_mail"], sinks={"send_mail": readable})),
        "`Items` and `unmarked`": (
            True,
            Provenance(free=["read_mail"], sinks={"send_mail": unmarked}, from_=["user"]),
        ),
    }


def scripted(request: ModelRequest) -> str | RawToolCall:
    """The next call of the turns, or the answer."""
    done = sum(message.role == "tool" for message in request.messages)
    return mail_call(done) if done < TURNS else "Anna knows."


def turns(model: Model, *layers: Provenance, items: bool) -> Loop:
    """Ten tool turns, all of whose calls must be made."""
    agent = ReactAgent(model, tools(items=items), max_steps=TURNS + 1, middleware=layers)

    async def loop() -> object:
        result = await agent.run(TASK)
        if any(each.is_error for step in result.steps for each in step.results):
            raise RuntimeError("a call was refused")
        return result

    return loop


async def labels(base_url: str) -> list[Row]:
    """The turns with each policy, compared with none."""
    models: dict[str, Callable[[], Model]] = {
        "over HTTP": lambda: OpenAIModel(f"mails-{TURNS}", base_url=base_url, api_key="x"),
        "scripted": lambda: ScriptedModel(scripted),
    }
    rows: list[Row] = []
    for place, model in models.items():
        for name, (items, policy) in policies().items():
            ours = turns(model(), policy, items=items)
            pair = await measure(ours, turns(model(), items=items), pairs=PAIRS, repeats=2)
            goal = LABELS_TARGET if place == "over HTTP" else None
            rows.append(ratio_row(f"ten tool turns, {place}, {name}", pair, goal))
    return rows


def sandbox() -> ProcessExecutor:
    """A sandbox as `apart` makes one."""
    return ProcessExecutor(Sandbox("isolated", checkpoints=0))


async def session() -> None:
    """A new session that runs one line."""
    async with sandbox() as executor:
        await executor.run("1 + 1")


async def apart() -> None:
    """Measure `apart` and a new session in turn, and print the medians and their ratio."""
    control = RunControl("benchmark", 1, {})
    vault = control.vault = Vault(0, lambda _: None)
    source = "def measure(text):\n    return len(text)"
    helpers = SealedHelpers(control, ScriptedModel([]), sandbox, lambda: [source], lambda _: None)
    text = vault.seal("x" * 10_000, str, Label(frozenset({"read_mail"})), "read_mail")

    async def work() -> None:
        await helpers.apart("<function measure at 0x1>", text, gives="int")

    ways: list[Callable[[], Awaitable[None]]] = [session, work]
    seconds: list[list[float]] = [[], []]
    for number in range(ROUNDS + 1):
        for way, taken in zip(ways, seconds, strict=True):
            began = time.perf_counter()
            await way()
            if number:  # the first starts the template
                taken.append(time.perf_counter() - began)
    one, other = (statistics.median(taken) * 1000 for taken in seconds)
    print(f"new session {one:.1f} ms, apart {other:.1f} ms")
    print(f"apart / new session: {other / one:.2f}, at most {TARGET}\n")


if __name__ == "__main__":
    asyncio.run(apart())
    with mock_server() as url:
        show("CPU", asyncio.run(labels(url)), ("with it", "without"))
