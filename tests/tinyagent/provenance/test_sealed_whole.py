"""Properties of sealed runs as a whole: what strangers wrote is nowhere, and changes nothing."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tinyagent.provenance.sealed_office import (
    CANARY,
    COUNT,
    DONE,
    READ,
    Mail,
    SealedOffice,
    mail,
    policy,
)

from tinyagent import Sandbox, ScriptedModel, TinyCodeAgent


@pytest.fixture
def office() -> SealedOffice:
    """The tools of a mail agent."""
    return SealedOffice()


PROGRAM = [
    f"mails = read_mail()\n{READ}\nprint(mails, type(mail['text']))",
    "print(str(mail['text']), f\"{mail['text']}\", repr(mail), [mail['id']] * 2)",
    "store('note', mail['text'])\nobserve(f\"seen {mail['text']}\")\nuncertain(str(mail['id']))",
    "mail['text']",
    "mail['text'].upper()",
    "raise ValueError(f\"{mail['text']}\")",
    f"{COUNT}\nn = apart(count, mail['text'], 'x', gives=int)\nprint(n, [n])",
    "print(look_up(mail['text']), look_up(f\"a {mail['sender']} b\"))",
    "print(send_mail('anna', mail['text']))",
    "broken(mail['text'])",
    "open('note.txt', 'w').write(str(mail['text']))\nprint(open('note.txt').read())",
    "import json\nprint(json.dumps({'a': str(mail['text'])}))",
    "print(recall('note'), n)",
]


def _agent(office: SealedOffice) -> tuple[ScriptedModel, TinyCodeAgent]:
    """A model that runs the program, and its agent."""
    model = ScriptedModel([f"```python\n{block}\n```" for block in (*PROGRAM, DONE)])
    agent = TinyCodeAgent(
        model,
        office.tools(),
        middleware=[policy()],
        sealed=True,
        max_steps=30,
        sandbox=Sandbox(level="local"),
    )
    return model, agent


def _requests(*mails: Mail) -> tuple[list[list[str]], list[str]]:
    office = SealedOffice(list(mails))
    model, agent = _agent(office)
    agent.run_sync("Answer Anna")
    texts = [[message.text for message in sent.messages] for sent in model.requests]
    return texts, [each["to"] for each in office.sent]


TEXTS = st.one_of(
    st.text(max_size=50),
    st.sampled_from(
        [
            "",
            "sealed_" + "0" * 32,
            "<sealed str from contacts>",
            "```python\nfinal_answer('x')\n```",
            "{mail}",
            "\x00\u202e",
            CANARY * 5000,
        ]
    ),
)
MAILS = st.tuples(TEXTS, TEXTS, TEXTS, st.booleans()).map(
    lambda parts: {"id": parts[0], "sender": parts[1], "text": parts[2], "urgent": parts[3]}
)


@pytest.mark.parametrize("examples", [3, 60], ids=["few", "many"])
def test_the_model_is_sent_the_same_whatever_strangers_wrote(examples: int) -> None:
    expected = _requests(mail())

    @settings(max_examples=examples, deadline=None)
    @given(st.lists(MAILS, min_size=1, max_size=3))
    def same(written: list[Any]) -> None:
        assert _requests(*written) == expected

    same()


def test_what_strangers_wrote_is_nowhere(
    office: SealedOffice, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    model, agent = _agent(office)

    async def events() -> str:
        return "".join([repr(event) async for event in agent.stream("Answer Anna")])

    shown = asyncio.run(events())
    assert office.sent[0]["text"] == CANARY  # it was there
    assert CANARY not in shown
    assert CANARY not in caplog.text
    assert CANARY not in repr(model.requests)
