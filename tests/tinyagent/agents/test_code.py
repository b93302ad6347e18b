"""A code agent from its task to its answer, at each trust level."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from tests.support.coding import (
    block,
    coder,
    each_level,
    each_process_level,
    events_of,
    observed,
    seconds,
)

from tinyagent import (
    ConfigurationError,
    ExecutionLimits,
    InvalidFinalAnswer,
    Sandbox,
    ScriptedModel,
    StepLimitReached,
    TinyCodeAgent,
    TrustLevel,
    tool,
)
from tinyagent.core import ReplyRejected, SignalType
from tinyagent.memory import ActionStep


@each_level
async def test_variables_functions_and_imports_live_on_from_step_to_step(level: TrustLevel) -> None:
    model = coder(
        "import math\nnumbers = [3, 4]\ndef length(a, b):\n    return math.hypot(a, b)",
        "numbers.append(length(*numbers))\nnumbers",
        "final_answer(numbers[-1])",
    )
    result = await TinyCodeAgent(model, output_type=float, sandbox=Sandbox(level=level)).run("go")
    assert (result.output, result.state, result.steps_taken) == (5.0, "completed", 3)
    assert observed(model, 1) == "(no output)"
    assert observed(model, 2) == "[3, 4, 5.0]"


@each_level
async def test_variables_live_no_longer_than_their_run(level: TrustLevel) -> None:
    model = coder("x = 1", "final_answer(x)", "'x' in globals()", "x")
    agent = TinyCodeAgent(model, sandbox=Sandbox(level=level), max_steps=2)
    assert (await agent.run("go")).output == "1"
    again = await agent.run("go", return_result=True)
    seen, unchecked = [step.observation for step in again.steps]
    assert seen.startswith("False")
    assert "NameError: name 'x' is not defined" in unchecked


@each_level
async def test_a_step_is_remembered_with_its_reasoning_code_and_observation(
    level: TrustLevel,
) -> None:
    model = ScriptedModel([block("print(6 * 7)", "I multiply."), block("final_answer('done')")])
    result = await TinyCodeAgent(model, sandbox=Sandbox(level=level)).run("go")
    first, second = result.steps
    assert isinstance(first, ActionStep)
    assert (first.reasoning, first.code, first.observation) == ("I multiply.", "print(6 * 7)", "42")
    assert [step.number for step in (first, second)] == [1, 2]
    assert [message.role for message in model.requests[1].messages] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert {request.temperature for request in model.requests} == {None}  # nobody asked for one


@each_level
async def test_a_block_that_takes_too_long_leaves_the_variables_of_earlier_ones(
    level: TrustLevel,
) -> None:
    model = coder(
        "found = ['a', 'b']", "while True:\n    pass", "final_answer(' and '.join(found))"
    )
    agent = TinyCodeAgent(model, sandbox=Sandbox(level=level, limits=seconds(1)))
    result = await agent.run("go")
    assert result.output == "a and b"
    assert "1 s" in observed(model, 2)


@each_process_level
async def test_a_block_that_crashes_or_takes_all_memory_leaves_them_too(level: TrustLevel) -> None:
    model = coder(
        "kept = 7",
        "import os\nos._exit(3)",
        "rows = [bytes(1 << 20) for _ in range(4_000)]",
        "final_answer(kept)",
    )
    limits = ExecutionLimits(timeout_seconds=20, max_memory_bytes=1 << 27)
    result = await TinyCodeAgent(model, sandbox=Sandbox(level=level, limits=limits)).run("go")
    assert result.output == "7"
    assert "memory" in observed(model, 3)


@each_process_level
async def test_a_block_that_fills_the_memory_by_a_variable_is_undone(level: TrustLevel) -> None:
    model = coder(
        "found = ['a', 'b']",
        "while True: found += found",
        "final_answer(len(found))",
    )
    limits = ExecutionLimits(timeout_seconds=20, max_memory_bytes=1 << 27)
    agent = TinyCodeAgent(model, output_type=int, sandbox=Sandbox(level=level, limits=limits))
    assert (await agent.run("go")).output == 2
    assert "memory" in observed(model, 2)


FINAL = {
    "plain": "final_answer(42)\nanswer = 'too late'",
    "in a function": "def deep():\n    final_answer(42)\n    raise OSError\ndeep()",
    "in a loop": "for number in range(100):\n    if number == 42:\n        final_answer(number)",
    "in a try": "try:\n    final_answer(42)\nexcept Exception:\n    final_answer(0)",
    "in a finally": "try:\n    final_answer(42)\nfinally:\n    done = True",
    "in a comprehension": "[final_answer(n) for n in (42, 43)]",
    "the first of two": "final_answer(42)\nfinal_answer(43)",
    "after a forgery": "_final_result = 1\nfinal_answer(42)",
}


@each_process_level
@pytest.mark.parametrize("code", FINAL.values(), ids=FINAL.keys())
async def test_the_answer_ends_the_block_wherever_it_is_given(level: TrustLevel, code: str) -> None:
    result = await TinyCodeAgent(coder(code), output_type=int, sandbox=Sandbox(level=level)).run(
        "go"
    )
    assert (result.output, result.steps_taken) == (42, 1)


@pytest.mark.parametrize("code", list(FINAL.values())[:-1], ids=list(FINAL)[:-1])
async def test_the_answer_ends_the_block_in_this_process_too(code: str) -> None:
    result = await TinyCodeAgent(coder(code), output_type=int, sandbox=Sandbox(level="local")).run(
        "go"
    )
    assert (result.output, result.steps_taken) == (42, 1)


FORGERIES = {
    "a name": "_final_result = 13",
    "an own final_answer": "def final_answer(value):\n    return value\nfinal_answer(13)",
    "a global": "globals()['_final_result'] = 13",
}


@each_level
@pytest.mark.parametrize("code", FORGERIES.values(), ids=FORGERIES.keys())
async def test_an_answer_cannot_be_forged(level: TrustLevel, code: str) -> None:
    model = coder(code, "1 + 1")
    agent = TinyCodeAgent(model, sandbox=Sandbox(level=level), max_steps=2)
    result = await agent.run("go", return_result=True)
    assert result.output is None
    assert result.final_answer is None
    assert isinstance(result.error, StepLimitReached)


@each_level
async def test_what_is_said_next_to_the_answer_is_its_metadata(level: TrustLevel) -> None:
    model = coder("final_answer('Lisbon', confidence=0.9, sources=['atlas'])")
    answer = (await TinyCodeAgent(model, sandbox=Sandbox(level=level)).run("go")).final_answer
    assert answer is not None
    assert (answer.value, answer.source) == ("Lisbon", "final_answer")
    assert dict(answer.metadata) == {"confidence": 0.9, "sources": ["atlas"]}


@each_level
async def test_a_refused_import_is_reported_and_corrected(level: TrustLevel) -> None:
    model = coder("import subprocess", "import statistics\nfinal_answer(statistics.mean([1, 3]))")
    result = await TinyCodeAgent(model, output_type=float, sandbox=Sandbox(level=level)).run("go")
    assert result.output == 2.0
    assert "subprocess" in observed(model)


@each_level
async def test_an_import_can_be_added(level: TrustLevel) -> None:
    model = coder(*["import cmd\nfinal_answer(cmd.PROMPT)"] * 2)
    agent = TinyCodeAgent(model, sandbox=Sandbox(level=level, imports=["cmd"]))
    assert (await agent.run("go")).output == "(Cmd) "
    refused = await TinyCodeAgent(model, sandbox=Sandbox(level=level), max_steps=1).run(
        "go", return_result=True
    )
    assert "cmd" in refused.steps[0].observation


@each_level
async def test_an_import_of_a_helper_is_passed_over(level: TrustLevel) -> None:
    model = coder("from helpers import store, recall\nstore('a', 2)\nfinal_answer(recall('a'))")
    assert (await TinyCodeAgent(model, sandbox=Sandbox(level=level)).run("go")).output == "2"


@each_level
async def test_an_error_names_what_may_have_been_meant(level: TrustLevel) -> None:
    model = coder("total = 1\nprint(eval('totl'))", "final_answer(total)")
    await TinyCodeAgent(model, sandbox=Sandbox(level=level)).run("go")
    assert "Did you mean total?" in observed(model)


@each_level
async def test_an_error_shows_the_line_of_the_models_own_code(level: TrustLevel) -> None:
    model = coder("a = 1\nb = a / 0\nc = 2", "final_answer(a)")
    result = await TinyCodeAgent(model, sandbox=Sandbox(level=level)).run("go")
    assert result.output == "1"
    assert "ZeroDivisionError" in observed(model)
    assert "line 2" in observed(model)
    assert "tinyagent" not in observed(model)


class Invoice(BaseModel):
    """What is wanted."""

    number: str
    total: int


@each_level
async def test_an_answer_of_the_wrong_type_is_reported_and_corrected(level: TrustLevel) -> None:
    model = coder(
        "draft = {'number': 'A-1'}\nfinal_answer(draft)",
        "draft['total'] = 120\nfinal_answer(draft)",
    )
    agent = TinyCodeAgent(model, output_type=Invoice, sandbox=Sandbox(level=level))
    assert "final_answer must match this JSON Schema" in agent._system_prompt
    events = await events_of(agent)
    assert sum(isinstance(event, ReplyRejected) for event in events) == 1
    assert observed(model).startswith("Your answer does not match the required type:\ntotal: ")
    last: Any = events[-1]
    assert last.result.output == Invoice(number="A-1", total=120)


@each_level
async def test_an_answer_that_never_takes_its_type_ends_the_run(level: TrustLevel) -> None:
    agent = TinyCodeAgent(
        coder(*["final_answer('many')"] * 3),
        output_type=int,
        sandbox=Sandbox(level=level),
        output_retries=2,
    )
    with pytest.raises(InvalidFinalAnswer, match="in 3 tries") as caught:
        await agent.run("go")
    assert caught.value.result is not None
    assert caught.value.result.steps_taken == 3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("'a text'", "a text"),
        ("42", "42"),
        ("{'a': [1, None]}", '{"a":[1,null]}'),
        ("__import__('decimal').Decimal('1.10')", "1.10"),
        ("(1, 2)", "[1,2]"),
        ("None", "null"),
    ],
)
async def test_without_a_type_the_answer_is_its_text(value: str, text: str) -> None:
    result = await TinyCodeAgent(coder(f"final_answer({value})")).run("go")
    assert result.output == text
    assert str(result) == text


@each_level
async def test_signals_are_the_runs_own(level: TrustLevel) -> None:
    model = coder(
        "explore('the table')\nuncertain('is it complete?')",
        "commit('it is')\nfinal_answer(1)",
        "commit('again')\nfinal_answer(2)",
    )
    agent = TinyCodeAgent(model, sandbox=Sandbox(level=level))
    first, second = await agent.run("one"), await agent.run("two")
    assert [(signal.type, signal.message, signal.step) for signal in first.signals] == [
        (SignalType.EXPLORE, "the table", 1),
        (SignalType.UNCERTAIN, "is it complete?", 1),
        (SignalType.COMMIT, "it is", 2),
    ]
    assert [signal.message for signal in second.signals] == ["again"]
    assert [len(step.signals) for step in first.steps] == [2, 1]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("I shall think about it.", "contains no Python code"),
        ("```python\nx = (1\n```", "'(' was never closed"),
        ("```sql\nSELECT 1\n```", "only Python is run"),
        ("", "contains no Python code"),
    ],
)
async def test_a_reply_without_code_costs_a_step_and_is_reported(reply: str, message: str) -> None:
    model = ScriptedModel([reply, block("final_answer('ok')")])
    result = await TinyCodeAgent(model).run("go")
    assert (result.output, result.steps_taken) == ("ok", 2)
    assert message in observed(model)
    assert result.steps[0].reasoning == reply


@pytest.mark.parametrize("name", ["final_answer", "store", "uncertain"])
def test_a_tool_that_is_named_like_a_helper_is_refused(name: str) -> None:
    @tool(name=name)
    def taken() -> str:
        """Do something else."""
        return ""

    with pytest.raises(ConfigurationError, match=f"a helper '{name}': rename the tool"):
        TinyCodeAgent(ScriptedModel([]), [taken])


@each_level
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("final_answer(10**5000)", float),
        ("final_answer([10**5000])", list[float]),
        ("import decimal\nfinal_answer(decimal.Decimal('1E+20000000'))", int),
        ("import decimal\nfinal_answer({'a': decimal.Decimal('1E+20000000')})", dict[str, int]),
    ],
)
async def test_an_answer_of_too_many_digits_goes_back_to_the_model(
    level: TrustLevel, code: str, kind: type[Any]
) -> None:
    good = {float: "1", int: "1", list[float]: "[1]"}.get(kind, "{'a': 1}")
    model = coder(code, f"final_answer({good})")
    result = await TinyCodeAgent(model, output_type=kind, sandbox=Sandbox(level=level)).run("go")
    assert result.output in (1, [1], {"a": 1})
    assert "4,300 digits" in observed(model)
