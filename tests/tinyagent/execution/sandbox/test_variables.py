"""What the variables are, whatever the steps before did: against a model, in random order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.support.execution import hurry, isolated, within

from tinyagent.core.errors import CallerError
from tinyagent.execution.protocol import ExecutionResult

CHECKPOINTS = 3
NAMES = st.sampled_from("abc")
VALUES = st.one_of(st.integers(), st.text(max_size=3), st.lists(st.none(), max_size=2))

Known = frozenset[tuple[str, int]]
State = tuple[dict[str, Any], Known]


class Variables(RuleBasedStateMachine):
    """The executor compared with a model of it: the states after each step that ended well."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.executor = isolated(within(20), checkpoints=CHECKPOINTS)
        self.states: list[State] = [({}, frozenset())]
        self.has_dropped = False
        self.injected: dict[str, tuple[int, Any]] = {}
        self.injections = 0

    def step(self, code: str) -> ExecutionResult:
        result = self.runner.run(self.executor.run(code))
        assert not result.state_lost, result
        return result

    def begin(self) -> dict[str, Any]:
        """The variables that a step starts with."""
        variables, known = self.states[-1]
        new = {
            name: value
            for name, (number, value) in self.injected.items()
            if (name, number) not in known
        }
        return {**variables, **new}

    def end(self, variables: dict[str, Any]) -> None:
        """A step has ended well."""
        brought = frozenset((name, number) for name, (number, _) in self.injected.items())
        self.states.append((variables, self.states[-1][1] | brought))
        if len(self.states) > CHECKPOINTS + 2:
            del self.states[1]
            self.has_dropped = True

    @rule(name=NAMES, value=VALUES)
    def assign(self, name: str, value: Any) -> None:
        assert self.step(f"{name} = {value!r}").error is None
        self.end({**self.begin(), name: value})

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        there = self.begin()
        error = self.step(f"del {name}").error
        assert (error is None) == (name in there)
        there.pop(name, None)
        self.end(there)

    @rule(name=NAMES, value=VALUES)
    def fail_after_assigning(self, name: str, value: Any) -> None:
        assert "ZeroDivisionError" in (self.step(f"{name} = {value!r}\n1 / 0").error or "")
        self.end({**self.begin(), name: value})

    @rule(name=NAMES)
    def take_too_long(self, name: str) -> None:
        hurry(self.executor, 0.1)
        result = self.step(f"{name} = 'too late'\nwhile True: pass")
        hurry(self.executor, 20)
        assert result.timed_out

    @rule(name=NAMES)
    def end_the_process(self, name: str) -> None:
        error = self.step(f"{name} = 'gone'\nimport os\nos._exit(3)").error
        assert "exit code 3" in (error or "")

    @rule(name=NAMES, value=VALUES)
    def inject(self, name: str, value: Any) -> None:
        self.executor.inject(name, value)
        self.injections += 1
        self.injected[name] = (self.injections, value)

    def kept(self) -> int:
        """How many steps back it can go: to the beginning too, if nothing since is missing."""
        return len(self.states) - 1 - self.has_dropped

    @precondition(lambda self: self.kept() > 0)
    @rule(data=st.data())
    def rewind(self, data: st.DataObject) -> None:
        steps = data.draw(st.integers(1, self.kept()))
        self.executor.rewind(steps)
        del self.states[-steps:]

    @rule()
    def rewind_too_far(self) -> None:
        with pytest.raises(CallerError):
            self.executor.rewind(self.kept() + 1)

    @rule()
    def reset(self) -> None:
        self.runner.run(self.executor.reset())
        self.states = [({}, frozenset())]
        self.has_dropped = False

    @invariant()
    def the_variables_are_those_of_the_model(self) -> None:
        code = "print(sorted((n, v) for n, v in globals().items() if n in {*'abc'}))"
        result = self.step(code)
        assert result.error is None
        expected = self.begin()
        assert result.output == f"{sorted(expected.items())}\n"
        self.end(expected)

    def teardown(self) -> None:
        self.runner.run(self.executor.aclose())
        self.runner.close()


TestVariables = Variables.TestCase
TestVariables.settings = settings(
    max_examples=20,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
