"""Two stores on one database, used in any order, compared with a model in memory."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
    run_state_machine_as_test,
)

from skillian.storage import DIED, Draft, SessionNotFound, SessionStore, TurnLost, open_store
from skillian.storage.turn_rows import Change
from skillian.storage.turns import HeldTurn

STORES = st.sampled_from([0, 1])
TEXTS = st.text(st.characters(codec=None), max_size=8)
SAID = st.lists(TEXTS, max_size=3)
KINDS = st.lists(st.sampled_from(["delta", "tool_started", "signal"]), max_size=3)

Held = tuple[str, int, HeldTurn]  # the session, which of its turns, or 0 where none was had


@dataclass
class Expected:
    """What a session must hold; `running` is the number of its turn under way."""

    shown: list[dict[str, Any]] = field(default_factory=list)
    hidden: list[dict[str, Any]] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    turns: int = 0
    running: int = 0
    is_dead: bool = False

    def break_off(self, reason: str) -> None:
        self.shown.append({"role": "assistant", "content": reason, "broken": True})
        self.events += ["turn_failed", "turn_ended"]
        self.end()

    def end(self) -> None:
        self.hidden, self.running, self.is_dead = [], 0, False


class Machine(RuleBasedStateMachine):
    url = ""
    sessions = Bundle("sessions")
    held = Bundle("held")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.stores: list[SessionStore] = [
            self.runner.run(self.stack.enter_async_context(open_store(self.url))) for _ in range(2)
        ]
        self.expected: dict[str, Expected] = {}

    def teardown(self) -> None:
        self.runner.run(self.stack.aclose())
        self.runner.close()

    @rule(target=sessions, store=STORES)
    def create(self, store: int) -> str:
        session = self.runner.run(self.stores[store].create("me")).id
        self.expected[session] = Expected()
        return session

    @rule(
        target=held, session=sessions, store=STORES, message=TEXTS, kinds=KINDS, dies=st.booleans()
    )
    def take(self, session: str, store: int, message: str, kinds: list[str], *, dies: bool) -> Held:
        opened, lease = self.stores[store], -1 if dies else 3600
        turn = HeldTurn(opened._database, opened._leases, session, f"{store}", lease)
        asked = {"role": "user", "content": message}
        opening = Change([asked], [Draft(one, {}) for one in kinds])
        expected = self.expected.get(session)
        if expected is None:
            with pytest.raises(SessionNotFound):
                self.runner.run(turn.take(opening))
            return session, 0, turn
        if expected.is_dead:
            expected.break_off(DIED)
        history = list(expected.shown)
        assert self.runner.run(turn.take(opening)) == (not expected.running)
        if expected.running:
            return session, 0, turn
        expected.turns += 1
        expected.running, expected.is_dead = expected.turns, dies
        expected.shown.append(asked)
        expected.events += kinds
        assert (turn.number, turn.history) == (expected.turns, history)
        return session, turn.number, turn

    @rule(held=held, message=SAID, kinds=KINDS)
    def write(self, held: Held, message: list[str], kinds: list[str]) -> None:
        messages = [{"role": "assistant", "content": one} for one in message]
        drafts = [Draft(one, {"type": one}) for one in kinds]
        expected = self.running(held)
        if expected is None:
            with pytest.raises(TurnLost):
                self.runner.run(held[2].write(messages, drafts))
            return
        written = self.runner.run(held[2].write(messages, drafts))
        first = len(expected.events) + 1
        assert [event.number for event in written] == list(range(first, first + len(kinds)))
        expected.hidden += messages
        expected.events += kinds

    @rule(held=consumes(held), message=TEXTS, breaks=st.booleans())
    def end(self, held: Held, message: str, *, breaks: bool) -> None:
        answer = {"role": "assistant", "content": message}
        ending = held[2].break_off("cancelled", message) if breaks else held[2].finish([answer])
        expected = self.running(held)
        if expected is None:
            with pytest.raises(TurnLost):
                self.runner.run(ending)
            return
        self.runner.run(ending)
        if breaks:
            expected.break_off(message)
        else:
            expected.shown += [*expected.hidden, answer]
            expected.events.append("turn_ended")
            expected.end()

    @rule(session=consumes(sessions), store=STORES)
    def delete(self, session: str, store: int) -> None:
        del self.expected[session]
        self.runner.run(self.stores[store].delete("me", session))

    @rule(session=sessions, store=STORES, skip=st.integers(0, 5))
    def look(self, session: str, store: int, skip: int) -> None:
        expected = self.expected[session]
        if expected.is_dead:
            expected.break_off(DIED)
        progress = self.runner.run(self.stores[store].progress(session, skip))
        events = list(enumerate(expected.events, 1))[skip:]
        assert [(event.number, event.type) for event in progress.events] == events
        assert progress.is_running == bool(expected.running)
        assert self.runner.run(self.stores[store].messages(session)) == expected.shown

    @invariant()
    def all_are_listed(self) -> None:
        for store in self.stores:
            listed = self.runner.run(store.list("me", 0, 1000))
            assert {one.id for one in listed} >= set(self.expected)

    def running(self, held: Held) -> Expected | None:
        session, number, _ = held
        expected = self.expected.get(session)
        return expected if expected is not None and expected.running == number != 0 else None


def test_both_stores_always_hold_the_same(url: str) -> None:
    # Each example opens two stores: few examples, of many steps.
    few = settings(max_examples=6, stateful_step_count=30, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(type("Here", (Machine,), {"url": url}), settings=few)
