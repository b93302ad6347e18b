"""Replies that a model declined to give, or could not finish."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.coding import block

from tinyagent import (
    AnswerCutOff,
    AnswerRefused,
    ReactAgent,
    Sandbox,
    ScriptedModel,
    TinyCodeAgent,
    tool,
)
from tinyagent.core import ModelResponse, RawToolCall

_CALLED: list[dict[str, Any]] = []


@tool
def remember(limit: int = 10) -> str:
    """Remember a limit.

    Args:
        limit: how much.
    """
    _CALLED.append({"limit": limit})
    return "done"


def agent_of(kind: str, model: ScriptedModel, **options: Any) -> ReactAgent | TinyCodeAgent:
    if kind == "code":
        return TinyCodeAgent(model, [remember], sandbox=Sandbox(level="local"), **options)
    return ReactAgent(model, [remember], tool_calling_mode="native", **options)


def cut_off(text: str | None, *calls: RawToolCall) -> ModelResponse:
    return ModelResponse(text, calls, finish_reason="length")


@pytest.mark.parametrize("kind", ["react", "code"])
@pytest.mark.parametrize("reason", ["refusal", "content_filter"])
async def test_a_refusal_ends_the_run_with_the_providers_words(kind: str, reason: str) -> None:
    words = "I cannot help with that. " * 100
    model = ScriptedModel([ModelResponse(None, finish_reason=reason, refusal=words)])
    with pytest.raises(AnswerRefused, match="declined to answer: I cannot help") as caught:
        await agent_of(kind, model).run("go")
    assert len(model.requests) == 1
    assert len(str(caught.value)) < 1_200
    assert caught.value.result is not None
    assert caught.value.result.state == "refused"


@pytest.mark.parametrize("kind", ["react", "code"])
async def test_replies_that_are_cut_off_end_the_run_after_the_retries(kind: str) -> None:
    model = ScriptedModel(lambda _: cut_off("The answer is 1"))
    with pytest.raises(AnswerCutOff, match="max_tokens, which is 7") as caught:
        await agent_of(kind, model, max_tokens=7, output_retries=1).run("go")
    assert len(model.requests) == 2
    assert caught.value.result is not None
    assert caught.value.result.state == "cut_off"


async def test_an_answer_that_was_cut_off_is_not_the_answer() -> None:
    model = ScriptedModel([cut_off("The answer is 1"), "12"])
    assert (await agent_of("react", model).run("go")).output == "12"
    assert "cut off" in model.requests[1].messages[-1].text


@pytest.mark.parametrize(
    "text",
    [
        "```python\nremember(5)\nlimit = 10",
        "I begin.\n```python\nremember(5)",
        "remember(5)\nlimit = 10",
        "``` \nremember(5)\n",
    ],
)
async def test_code_that_was_cut_off_is_not_run(text: str) -> None:
    _CALLED.clear()
    model = ScriptedModel([cut_off(text), block("final_answer(1)")])
    assert (await agent_of("code", model).run("go")).output == "1"
    assert _CALLED == []
    assert "cut off at its maximum length" in model.requests[1].messages[-1].text


async def test_a_complete_block_is_run_though_what_follows_it_is_cut_off() -> None:
    model = ScriptedModel([cut_off(block("final_answer(1)") + "\nThis block gives the")])
    assert (await agent_of("code", model).run("go")).output == "1"


@pytest.mark.parametrize(
    ("arguments", "called"), [("", []), ('{"lim', []), ('{"limit": 5}', [{"limit": 5}])]
)
async def test_a_call_that_was_cut_off_is_not_made(
    arguments: str, called: list[dict[str, Any]]
) -> None:
    _CALLED.clear()
    call = RawToolCall("c1", "remember", arguments)
    model = ScriptedModel([cut_off(None, call), "ok"])
    assert (await agent_of("react", model).run("go")).output == "ok"
    assert called == _CALLED
