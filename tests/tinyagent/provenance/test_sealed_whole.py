"""Properties of sealed runs as a whole: what strangers wrote is nowhere, and changes nothing."""

from __future__ import annotations

import asyncio
import logging
import re
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, Literal

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from tests.tinyagent.provenance.sealed_office import (
    CANARY,
    DONE,
    READ,
    Mail,
    SealedOffice,
    mail,
    policy,
)

from tinyagent import Sandbox, ScriptedModel, TinyCodeAgent
from tinyagent.agents.code_sealed import SealedHelpers
from tinyagent.core.context import RunControl
from tinyagent.core.provenance import Label, join
from tinyagent.core.provenance.narrow import MAX_ITEMS, bits_of, typed
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.provenance.vault import Vault


@pytest.fixture
def office() -> SealedOffice:
    """The tools of a mail agent."""
    return SealedOffice()


FUNCTIONS = (
    "from enum import Enum\nclass Kind(Enum):\n    LONG = 'long'\n    SHORT = 'short'\n"
    "def same(*values):\n    return ' '.join(map(str, values))\n"
    "def size(*values):\n    return len(same(*values))\n"
    "def is_long(*values):\n    return size(*values) > 20\n"
    "def kind(*values):\n    return Kind.LONG if is_long(*values) else Kind.SHORT\n"
    "def kinds(*values):\n    return [kind(value) for value in values]"
)
START = (
    f"mails = read_mail()\n{READ}\ntext, sender = mail['text'], mail['sender']\n"
    f"new = number = mail['id']\n{FUNCTIONS}"
)
# Whether a call is allowed may be seen, so no value is passed where a rule would check it.
STATEMENTS = [
    *(
        "print(mails, type(@), @)",
        "@",
        "print(str(@), f'{@}', repr(@), [@] * 2)",
        "new = f'a {@} b'",
    ),
    *("new = f'{@}{@}'", "new = apart(same, @, @)", "new = apart(size, @, 'x', gives=int)"),
    *("new = apart(is_long, @, gives=bool)", "new = apart(kind, @, gives=Kind)"),
    *("print(apart(kinds, @, @, gives=list[Kind]))", "print(look_up(@), look_up(f'a {@} b'))"),
    *("print(send_mail('anna', @))", "broken(@)", "#.upper()", "len(#)"),
    *(
        "@ == @",
        "@ + 1",
        "raise ValueError(f'{@}')",
        "print(recall('note'))",
        "observe(f'seen {@}')",
    ),
    *("store('note', @)", "uncertain(str(@))", "import json\nprint(json.dumps({'a': str(@)}))"),
    "open('note.txt', 'w').write(str(@))\nprint(open('note.txt').read())",
    "if len(mails) > 5: print(@)",
]
SEALED = ["text", "sender", "number"]
VALUES = [*SEALED, "new", "str(new)"]
"""Texts with stand-ins among them; their random tokens must stay as they are."""
EVERYTHING = [
    each.replace("@", VALUES[at % 5]).replace("#", "text") for at, each in enumerate(STATEMENTS)
]


@st.composite
def programs(draw: st.DrawFn) -> list[str]:
    """A few statements on stand-ins, some of which fail."""
    pieces = draw(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=8))
    values = {"@": st.sampled_from(VALUES), "#": st.sampled_from(SEALED)}
    return [re.sub("[@#]", lambda found: draw(values[found[0]]), piece) for piece in pieces]


def _agent(office: SealedOffice, program: list[str]) -> tuple[ScriptedModel, TinyCodeAgent]:
    """A model that runs the program, and its agent."""
    blocks = [START, *program, DONE]
    model = ScriptedModel([f"```python\n{block}\n```" for block in blocks])
    agent = TinyCodeAgent(
        model,
        office.tools(),
        middleware=[policy()],
        sealed=True,
        max_steps=40,
        sandbox=Sandbox(level="local"),
    )
    return model, agent


def _requests(program: list[str], *mails: Mail) -> tuple[list[list[str]], list[str]]:
    office = SealedOffice(list(mails))
    model, agent = _agent(office, program)
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
MAILS = st.lists(
    st.builds(
        lambda texts, urgent: {
            "id": texts[0],
            "sender": texts[1],
            "text": texts[2],
            "urgent": urgent,
        },
        st.tuples(TEXTS, TEXTS, TEXTS),
        st.booleans(),
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.parametrize("examples", [3, 30], ids=["few", "many"])
def test_the_model_is_sent_the_same_whatever_strangers_wrote(examples: int) -> None:
    # A program that differs is short enough.
    phases = (Phase.explicit, Phase.reuse, Phase.generate)

    @settings(max_examples=examples, deadline=None, phases=phases)
    @given(programs(), MAILS)
    @example(EVERYTHING, [mail(text="")])
    def same(program: list[str], written: list[Any]) -> None:
        assert _requests(program, *written) == _requests(program, mail())

    same()


SOURCES = st.frozensets(st.sampled_from(["read_mail", "look_up", "bank", "user"]), min_size=1)
READERS = st.none() | st.frozensets(st.sampled_from(["user", "anna"]))
LABELS = st.builds(Label, SOURCES, READERS)


@settings(max_examples=10, deadline=None)
@given(st.lists(LABELS, max_size=3), st.lists(LABELS, max_size=2), st.lists(LABELS, max_size=2))
def test_the_label_of_apart_is_the_join_of_those_of_its_inputs(
    whole: list[Label], listed: list[Label], written: list[Label]
) -> None:
    control = RunControl("test", 1, {})
    vault = control.vault = Vault(0, lambda _: None)

    def seal(labels: list[Label]) -> list[Any]:
        return [vault.seal("x", str, label, "tool") for label in labels]

    def sandbox() -> ProcessExecutor:
        return ProcessExecutor(Sandbox("local", checkpoints=0))

    helpers = SealedHelpers(
        control, ScriptedModel([]), sandbox, lambda: [FUNCTIONS], lambda _: None
    )
    texts = "".join(f"a {each}" for each in seal(written))
    values = [*seal(whole), {"a": [1, seal(listed)]}, texts, "plain"]
    result = asyncio.run(helpers.apart("<function size at 0x1>", *values, gives="int"))
    assert vault.open(result).label == join([*whole, *listed, *written])


class Color(Enum):
    """A closed type of a tool."""

    RED = "red"
    BLUE = 7


KINDS: list[Any] = [bool, int, float, date, datetime, str, list, dict, Color, None, Literal["a"]]
KINDS += [Literal["a", 1, True], list[int], list[Literal["a", 0]], list[bool]]
OFFSETS = st.none() | st.timedeltas(
    min_value=timedelta(hours=-23), max_value=timedelta(hours=23)
).map(timezone)
SCALARS = st.one_of(
    st.sampled_from(["a", "red", "b", 0, 1, 7, True, False, None, 1.0, 2**63, -(2**63), 10**400]),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.dates(),
    st.datetimes(timezones=OFFSETS),
    st.sampled_from([*Color, Decimal(1), b"a", timedelta(1)]),
)
CONTENTS = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=3), SCALARS)


def _is_exactly(value: Any, kind: Any) -> bool:
    """What `typed` must give, said in another way: each value is one of a counted set."""
    name = repr(kind)
    if name.startswith("list["):
        return type(value) is list and all(_is_exactly(each, kind.__args__[0]) for each in value)
    if "Literal" in name or kind is Color:
        options = [each.value for each in Color] if kind is Color else list(kind.__args__)
        return repr(value) in map(repr, options)
    if type(value).__name__ != getattr(kind, "__name__", ""):
        return False
    if kind is int:
        return int(value).bit_length() < 64 or value == -(2**63)
    if kind is datetime:
        return (
            re.fullmatch(r"\D*|.*[+-]\d\d:\d\d", value.isoformat()[19:].lstrip(".0123456789"))
            is not None
        )
    return not (kind is float and (value - value) != 0)


@settings(max_examples=150)
@given(CONTENTS, st.sampled_from(KINDS))
@example([0] * (MAX_ITEMS + 1), list[int])
def test_nothing_is_taken_for_a_type_that_it_is_not(value: Any, kind: Any) -> None:
    try:
        given_as = typed(value, kind)
    except TypeError:
        is_float = kind is float and type(value) is int and abs(value) <= 2**53
        assert not _is_exactly(value, kind) or len(value) > MAX_ITEMS
        assert not is_float
    else:
        assert _is_exactly(given_as, kind)
        assert given_as == (value.value if isinstance(value, Color) else value)


@settings(max_examples=60)
@given(
    st.integers(0, 200), st.lists(st.tuples(SCALARS, st.sampled_from(KINDS), LABELS), max_size=8)
)
def test_no_sequence_of_reveals_tells_more_than_the_budget(
    budget: int, values: list[tuple[Any, Any, Label]]
) -> None:
    tainted: list[Label] = []
    vault = Vault(budget, tainted.append)
    spent = 0
    for value, kind, label in values:
        before = len(tainted)
        shown, bits = vault.reveal(vault.seal(value, kind, label, "tool"))
        if bits is None:
            assert tainted[before:] == [label]
        else:
            spent += bits
            assert len(tainted) == before
            assert kind not in (None, str, list, dict)
            assert _is_exactly(shown, kind)
            assert bits == bits_of(kind)
    assert spent <= budget


def test_what_is_made_of_stand_ins_is_never_narrow() -> None:
    tainted: list[Label] = []
    vault = Vault(1_000, tainted.append)
    yes = vault.seal(value=True, kind=bool, label=Label(frozenset({"read_mail"})), what="tool")
    for value in ([yes], f"{yes}", {"a": yes}, [yes, yes]):
        assert vault.reveal(value)[1] is None
    assert len(tainted) == 4


def test_what_strangers_wrote_is_nowhere(
    office: SealedOffice, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    model, agent = _agent(office, ["send_mail('anna', mail['text'])", *EVERYTHING])

    async def events() -> str:
        return "".join([repr(event) async for event in agent.stream("Answer Anna")])

    shown = asyncio.run(events())
    assert office.sent[0]["text"] == CANARY  # it was there
    assert CANARY not in shown
    assert CANARY not in caplog.text
    assert CANARY not in repr(model.requests)
