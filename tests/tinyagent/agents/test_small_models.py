"""What keeps small models going: hints, results under errors, repetitions, a last answer."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from tests.support.coding import block, coder, observed

from tinyagent import (
    ReactAgent,
    ScriptedModel,
    StepLimitReached,
    TinyCodeAgent,
    ToolRetry,
    UsageLimits,
    scripted_call,
    tool,
)
from tinyagent.core import ModelResponse, Usage


@tool
def get_weather(city: str) -> dict[str, int]:
    """Look up the weather of a city.

    Args:
        city: its name.
    """
    return {"degrees": len(city)}


@tool
def read_file(name: str) -> str:
    """Read a file."""
    if name != "stock.csv":
        raise ToolRetry("there is none")
    return "lamp,3\n" * 500


TOOLS = [get_weather, read_file]
DIES = "all = [get_weather('Oslo'), get_weather('Rome')]\nprint(all[0]['temperature'])"


def _seen(model: ScriptedModel, request: int = -1) -> str:
    return "\n".join(message.text for message in model.requests[request].messages[1:])


# code


async def test_an_error_is_followed_by_what_the_calls_returned() -> None:
    model = coder(DIES, "final_answer(4)")
    await TinyCodeAgent(model, TOOLS).run("go")
    assert "KeyError: 'temperature'" in observed(model)
    assert "- get_weather(city='Oslo') -> {\"degrees\": 4}" in observed(model).replace(":4", ": 4")


async def test_neither_failed_calls_nor_long_results_are_shown_whole() -> None:
    model = coder("a = read_file('stock.csv')\nread_file('other')", "final_answer(4)")
    await TinyCodeAgent(model, TOOLS).run("go")
    assert "- read_file(name='stock.csv') -> lamp,3" in observed(model)
    assert "read_file(name='other') ->" not in observed(model)
    assert len(observed(model)) < 2_000


async def test_a_block_without_an_error_shows_only_its_output() -> None:
    model = coder("print(get_weather('Oslo')['degrees'])", "final_answer(4)")
    await TinyCodeAgent(model, TOOLS).run("go")
    assert observed(model) == "4"


async def test_a_repeated_block_is_left_out_and_answered_more_freely_once() -> None:
    model = coder("x = 1 / 0", "x = 1 / 0", "print(5)", "final_answer(5)")
    result = await TinyCodeAgent(model, temperature=0).run("go")
    assert [request.temperature for request in model.requests] == [0, 0, 1, 0]
    assert _seen(model, 2).count("1 / 0") == _seen(model, 1).count("1 / 0")
    assert "You sent a block again" in observed(model, 2)
    assert [step.code for step in result.steps][:2] == ["x = 1 / 0"] * 2
    sent = [request.messages for request in model.requests]
    assert all(later[: len(one)] == one for one, later in pairwise(sent))  # nothing sent changes


async def test_no_temperature_is_sent_that_nobody_asked_for() -> None:
    model = coder("x = 1 / 0", "x = 1 / 0", "final_answer(5)")
    await TinyCodeAgent(model).run("go")
    assert [request.temperature for request in model.requests] == [None] * 3


async def test_a_block_with_another_result_is_not_a_repetition() -> None:
    model = coder("n = 0", *["n += 1\nprint(n)"] * 3, "final_answer(n)")
    await TinyCodeAgent(model, temperature=0).run("go")
    assert {request.temperature for request in model.requests} == {0}
    assert _seen(model).count("n += 1") == 3


async def test_a_reply_without_code_may_be_repeated_too() -> None:
    model = ScriptedModel(["I think.", "I think.", block("final_answer(1)")])
    await TinyCodeAgent(model, temperature=0).run("go")
    assert _seen(model).count("I think.") == 1
    assert model.requests[-1].temperature == 1


@pytest.mark.parametrize(
    ("code", "hint", "unsaid"),
    [
        ("__import__('requests').get('http://a/weather')", "get_weather(city: str)", "read_f"),
        ("import get_weather", "", "is not allowed"),
        ("open('stock.csv')", "read_file(name: str)", "get_weather"),
        ("import pandas as pd\npd.read_csv('stock.csv')", "read_file(name: str)", "get_weather"),
    ],
)
async def test_an_error_says_which_function_does_it(code: str, hint: str, unsaid: str) -> None:
    model = coder(code, "final_answer(4)")
    await TinyCodeAgent(model, TOOLS).run("go")
    shown = observed(model).split("[", 1)[-1]
    assert hint in shown
    assert unsaid not in shown


async def test_several_values_are_a_list() -> None:
    agent = TinyCodeAgent(coder("final_answer('Fri', 60)"), output_type=tuple[str, int])
    assert (await agent.run("go")).output == ("Fri", 60)


async def test_an_answer_by_name_and_no_answer() -> None:
    model = coder("final_answer()", "final_answer(value=3)")
    assert (await TinyCodeAgent(model).run("go")).output == "3"
    assert "final_answer needs the answer" in observed(model)
    assert "Door" not in observed(model)


# the step limit


async def test_at_the_step_limit_a_code_agent_answers_in_words() -> None:
    model = ScriptedModel([block("print(get_weather('Oslo'))"), "It is 4 degrees."])
    result = await TinyCodeAgent(model, TOOLS, max_steps=1).run("go")
    assert result.final_answer is not None
    assert (result.output, result.final_answer.source) == ("It is 4 degrees.", "step_limit")
    assert (result.state, result.steps_taken, result.usage.requests) == ("completed", 1, 2)
    assert "in plain words" in model.requests[-1].messages[-1].text
    assert result.memory.to_messages()[-1].text == "It is 4 degrees."


@pytest.mark.parametrize(
    ("code", "output"),
    [("final_answer('Oslo')", "Oslo"), ("a = 1\nfinal_answer('Oslo', 4)", ["Oslo", 4])],
)
async def test_an_answer_that_is_written_out_needs_no_run(code: str, output: Any) -> None:
    model = ScriptedModel([block("print(1)"), block(code)])
    agent = TinyCodeAgent(model, output_type=Any, max_steps=1)
    assert (await agent.run("go")).output == output


@pytest.mark.parametrize("reply", [block("final_answer(x)"), block("print(1)"), "```json\n{}\n```"])
async def test_code_is_not_run_any_more(reply: str) -> None:
    model = ScriptedModel([block("x = 1\nprint(x)"), reply])
    result = await TinyCodeAgent(model, max_steps=1).run("go", return_result=True)
    assert isinstance(result.error, StepLimitReached)
    assert result.final_answer is None


async def test_at_the_step_limit_an_agent_with_tools_answers_in_words() -> None:
    call = scripted_call("get_weather", city="Oslo")
    model = ScriptedModel([call, "It is 4 degrees."])
    result = await ReactAgent(model, TOOLS, max_steps=1).run("go")
    assert result.final_answer is not None
    assert (result.output, result.final_answer.source) == ("It is 4 degrees.", "step_limit")
    assert model.requests[-1].format.tool_choice == "none"


@pytest.mark.parametrize(
    "reply",
    [
        scripted_call("get_weather", city="Rome"),
        " ",
        ModelResponse("It is", finish_reason="length", usage=Usage(1)),
    ],
)
async def test_what_is_not_an_answer_ends_the_run_at_its_limit(reply: Any) -> None:
    model = ScriptedModel([scripted_call("get_weather", city="Oslo"), reply])
    with pytest.raises(StepLimitReached):
        await ReactAgent(model, TOOLS, max_steps=1).run("go")


async def test_a_wrong_type_is_not_an_answer() -> None:
    model = ScriptedModel([scripted_call("get_weather", city="Oslo"), "four"])
    with pytest.raises(StepLimitReached):
        await ReactAgent(model, TOOLS, output_type=int, max_steps=1).run("go")


async def test_the_last_answer_can_be_left_out() -> None:
    model = ScriptedModel([scripted_call("get_weather", city="Oslo"), "4"])
    with pytest.raises(StepLimitReached):
        await ReactAgent(model, TOOLS, max_steps=1, answer_at_limit=False).run("go")
    assert len(model.requests) == 1


async def test_the_last_answer_costs_nothing_beyond_the_limits() -> None:
    model = ScriptedModel([scripted_call("get_weather", city="Oslo"), "4"])
    limits = UsageLimits(requests=1)
    with pytest.raises(StepLimitReached):
        await ReactAgent(model, TOOLS, max_steps=1, middleware=[limits]).run("go")
    assert len(model.requests) == 1


# calls in words


CALL = json.dumps({"name": "get_weather", "arguments": {"city": "Oslo"}})
UNKNOWN = json.dumps({"name": "weather", "arguments": {"city": "Oslo"}})
SMALL = "qwen2.5-coder-1.5b-instruct"


@pytest.mark.parametrize(
    "text",
    [
        f"I look.\n```json\n{CALL}\n```\nThe result is the weather.",
        f"{CALL}\nThe result is the weather.",
        f"```json\n{UNKNOWN}\n```\nor\n```json\n{CALL}\n```\nThat is all.",
    ],
)
async def test_a_call_with_words_after_it_is_run(text: str) -> None:
    result = await ReactAgent(ScriptedModel([text, "4 degrees."]), TOOLS).run("go")
    assert [call.content for step in result.steps for call in step.results] == ['{"degrees":4}']
    assert result.output == "4 degrees."


async def test_a_call_that_was_made_is_a_quotation() -> None:
    quotation = f"I sent\n```json\n{CALL}\n```\nand it is 4 degrees."
    result = await ReactAgent(ScriptedModel([CALL, quotation]), TOOLS).run("go")
    assert result.output == quotation


async def test_a_model_that_has_called_natively_is_believed_in_later_runs() -> None:
    text = f"One may send\n```json\n{CALL}\n```\nfor that."
    call = scripted_call("get_weather", city="Rome")
    agent = ReactAgent(ScriptedModel([call, "4 degrees.", text], name=SMALL), TOOLS)
    await agent.run("go")
    assert (await agent.run("How?")).output == text


async def test_an_unknown_tool_beside_words_is_named_once() -> None:
    text = f"I look.\n```json\n{UNKNOWN}\n```\nThat is the weather."
    model = ScriptedModel([text, text])
    assert (await ReactAgent(model, TOOLS).run("go")).output == text
    advice = model.requests[1].messages[-1].text
    assert "no tool 'weather'" in advice
    assert "get_weather, read_file" in advice


@pytest.mark.parametrize("text", ["<tool_response>\n4\n</tool_response>", "<tool_response>4"])
async def test_an_echo_is_not_an_answer(text: str) -> None:
    model = ScriptedModel([CALL, text, "4 degrees."])
    if "</" not in text:
        model = ScriptedModel([CALL, f"{text}</tool_response>", "4 degrees."])
    assert (await ReactAgent(model, TOOLS).run("go")).output == "4 degrees."


async def test_words_about_an_echo_are_an_answer() -> None:
    text = "<tool_response>4</tool_response>\nSo it is 4 degrees."
    assert (await ReactAgent(ScriptedModel([CALL, text]), TOOLS).run("go")).output == text


async def test_a_small_model_that_calls_nothing_is_asked_once_more() -> None:
    model = ScriptedModel(["20 degrees.", CALL, "4 degrees."], name=SMALL)
    assert (await ReactAgent(model, TOOLS).run("go")).output == "4 degrees."
    model = ScriptedModel(["Tokyo.", "Tokyo."], name=SMALL)
    hidden = replace(get_weather, name="get_rain", is_offered=False)
    assert (await ReactAgent(model, [*TOOLS, hidden]).run("go")).output == "Tokyo."
    assert len(model.requests) == 2
    assert model.requests[1].messages[-1].text.endswith("The tools are: get_weather, read_file.")


@pytest.mark.parametrize("name", ["gpt-5.5", "gpt-oss:120b", "qwen3-30b-a3b", "mixtral-8x7b"])
async def test_a_large_one_is_believed(name: str) -> None:
    model = ScriptedModel(["Tokyo."], name=name)
    assert (await ReactAgent(model, TOOLS).run("go")).output == "Tokyo."


async def test_without_tools_a_small_model_is_believed() -> None:
    assert (await ReactAgent(ScriptedModel(["Tokyo."], name=SMALL)).run("go")).output == "Tokyo."
