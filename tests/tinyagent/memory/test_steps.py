from __future__ import annotations

import dataclasses
import json
from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent import Message
from tinyagent.core.signals import Signal, SignalType
from tinyagent.memory.steps import (
    ActionStep,
    ScratchpadStep,
    Step,
    SystemPromptStep,
    TaskStep,
    step_from_dict,
)

moments = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-3.5))]))
signals = st.builds(
    Signal, st.sampled_from(SignalType), st.text(), moments, st.integers(min_value=1)
)
steps = st.one_of(
    st.builds(SystemPromptStep, st.text()),
    st.builds(TaskStep, st.text()),
    st.builds(ScratchpadStep, st.text()),
    st.builds(
        ActionStep,
        st.text(),
        st.text(),
        st.text(),
        st.lists(signals, max_size=3).map(tuple),
        moments,
        st.integers(min_value=1),
    ),
)


@given(steps)
def test_a_step_survives_json(step: Step) -> None:
    assert step_from_dict(json.loads(json.dumps(step.to_dict()))) == step


def test_a_step_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'dream'.*action"):
        step_from_dict({"type": "dream"})


@given(steps)
def test_no_step_can_be_changed(step: Step) -> None:
    for field in dataclasses.fields(step):  # type: ignore[arg-type]
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(step, field.name, "other")


def test_an_action_is_what_the_model_wrote_and_what_it_saw() -> None:
    assert ActionStep("I add.", "print(1 + 1)", "2").to_messages() == (
        Message("assistant", "I add.\n\n```python\nprint(1 + 1)\n```"),
        Message("user", "Observation:\n2"),
    )


@pytest.mark.parametrize(
    ("step", "messages"),
    [
        (SystemPromptStep("be brief"), (Message("system", "be brief"),)),
        (TaskStep("go"), (Message("user", "go"),)),
        (ScratchpadStep("seen: 2"), (Message("user", "seen: 2"),)),
        (ActionStep("I think.", "", ""), (Message("assistant", "I think."),)),
        (ActionStep("", "", "too late"), (Message("user", "Observation:\ntoo late"),)),
        (ActionStep("", "", ""), ()),
    ],
)
def test_each_step_has_its_messages_and_none_is_empty(
    step: Step, messages: tuple[Message, ...]
) -> None:
    assert step.to_messages() == messages


def test_code_that_holds_a_fence_gets_a_longer_one() -> None:
    (message, _) = ActionStep("", 'text = """```sql\n```"""', "ok").to_messages()
    assert message.text.startswith("````python\n")
    assert message.text.endswith("\n````")


@given(steps, st.integers(min_value=0, max_value=300))
def test_only_the_observation_of_an_action_gets_shorter(step: Step, max_chars: int) -> None:
    short = step.shortened(max_chars)
    assert short.size <= step.size
    if isinstance(step, ActionStep):
        assert isinstance(short, ActionStep)
        assert dataclasses.replace(short, observation=step.observation) == step
    else:
        assert short is step


def test_a_long_observation_is_cut_in_the_middle() -> None:
    short = ActionStep("", "run()", "a" * 500 + "b" * 500).shortened(100)
    assert len(short.observation) <= 100
    assert short.observation.startswith("aaa")
    assert short.observation.endswith("bbb")


@given(steps)
def test_a_step_weighs_what_is_sent_of_it(step: Step) -> None:
    assert step.size == sum(len(message.content) for message in step.to_messages())
