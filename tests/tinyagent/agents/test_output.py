from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tinyagent import ConfigurationError, ReactAgent, ScriptedModel
from tinyagent.agents.output import OutputReader
from tinyagent.core import MalformedReply


class Total(BaseModel):
    amount: float
    currency: Literal["EUR", "USD"] = "EUR"


@dataclass
class Pair:
    left: int
    right: int


@pytest.mark.parametrize("output_type", [None, str])
def test_text_is_taken_as_it_is(output_type: type[str] | None) -> None:
    text = '```\n"x"\n``` '
    agent = ReactAgent(ScriptedModel([text]), output_type=output_type)
    assert agent.run_sync("go").output == text


@pytest.mark.parametrize(
    ("output_type", "text", "value"),
    [
        (int, "42", 42),
        (int, " 42\n", 42),
        (bool, "true", True),
        (list[int], "[1, 2]", [1, 2]),
        (Total, '{"amount": 2.5}', Total(amount=2.5)),
        (Total, '```json\n{"amount": 2.5}\n```', Total(amount=2.5)),
        (Total, '```\n{"amount": 2.5}```', Total(amount=2.5)),
        (Pair, '{"left": 1, "right": 2}', Pair(1, 2)),
        (dict[str, int], '{"a": 1}', {"a": 1}),
    ],
)
def test_an_answer_takes_its_type(output_type: type[Any], text: str, value: object) -> None:
    reader: OutputReader[Any] = OutputReader(output_type)
    assert reader.read(text) == value


def test_the_model_is_shown_the_type_of_the_answer() -> None:
    instruction = OutputReader(Pair).instruction
    assert instruction.startswith("Your answer must be JSON that matches this JSON Schema: {")
    assert '"required": ["left", "right"]' in instruction
    assert "title" not in instruction


def test_a_wrong_answer_is_explained_field_by_field() -> None:
    reader = OutputReader(Total)
    with pytest.raises(MalformedReply) as caught:
        reader.read('{"currency": "GBP"}')
    head, *faults, instruction = str(caught.value).splitlines()
    assert head == "Your answer does not match the required type:"
    assert faults == [
        "amount: required, but missing",
        "currency: Input should be 'EUR' or 'USD', got 'GBP'",
    ]
    assert instruction == reader.instruction


@pytest.mark.parametrize("output_type", [int, Total, list[int]])
@given(st.text() | st.text().map("```json\n{}\n```".format))
def test_any_text_takes_the_type_or_is_rejected(output_type: type[Any], text: str) -> None:
    reader: OutputReader[Any] = OutputReader(output_type)
    try:
        value = reader.read(text)
    except MalformedReply:
        return
    assert isinstance(value, int | list | Total)


@pytest.mark.parametrize("text", ["\ud83d", "[" * 100_000, "1" * 10_000, "NaN", "```", "``````"])
def test_odd_text_is_rejected(text: str) -> None:
    with pytest.raises(MalformedReply):
        OutputReader(list[int]).read(text)


class Opaque:
    """No type that has a JSON form."""


@pytest.mark.parametrize("output_type", [Opaque, Callable[[], int]])
def test_a_type_that_no_answer_can_take_is_an_error_of_the_caller(output_type: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"output_type .* cannot be described as JSON"):
        OutputReader(output_type)
