from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from tests.support.checked_programs import TOOLS, Program, check, new_check, order, programs, stock

from tinyagent import Middleware, TinyCodeAgent
from tinyagent.agents.code_check.check import CodeCheck
from tinyagent.agents.code_prompt import HELPERS
from tinyagent.core import ExecutionResult, MalformedReply, ReplyRejected
from tinyagent.execution import ProcessExecutor
from tinyagent.models import ScriptedModel

ORDINARY = [*programs("ordinary_1.txt"), *programs("ordinary_2.txt")]
WRONG = list(programs("wrong.txt"))


def complaint(*blocks: str) -> str:
    """What is reported of the last block; "" for nothing."""
    checker = new_check()
    for code in blocks[:-1]:
        checker.check(ast.parse(code), TOOLS)
    try:
        checker.check(ast.parse(blocks[-1]), TOOLS)
    except MalformedReply as fault:
        return str(fault)
    return ""


def test_nine_of_ten_programs_with_a_fault_are_stopped() -> None:
    missed: list[Program] = []
    for program in WRONG:
        report = ""
        try:
            check(program)
        except MalformedReply as fault:
            report = str(fault)
        if not report or [word for word in program.says if word not in report]:
            missed.append(program)
    assert len(WRONG) >= 100
    assert [program.name for program in missed] == []


def test_no_ordinary_program_is_stopped() -> None:
    others = list(programs("of_tests.txt"))  # their tests run them
    assert len(ORDINARY) + len(others) >= 400
    for program in ORDINARY:
        check(program)
    for program in others:
        new_check(program.says).check(ast.parse(program.blocks[0].code), {})


@pytest.mark.parametrize("program", [pytest.param(each, id=each.name) for each in ORDINARY])
async def test_ordinary_programs_run(program: Program) -> None:
    codes = [f"```python\n{block.code}\n```" for block in program.blocks]
    model = ScriptedModel([*codes, "final_answer(1)"])
    agent = TinyCodeAgent(model, TOOLS.values(), output_type=object)
    result = await agent.run("go")
    observations = [step.observation for step in result.steps[: len(codes)]]
    failed = ["Traceback" in text for text in observations]
    assert failed == [block.fails for block in program.blocks][: len(failed)], observations


def test_all_faults_are_reported_with_their_lines_and_how_tools_are_called() -> None:
    report = complaint(
        'import requests\norder("tea", quantty=2)\ntotl = 1\nprint(total)\norder("milk", "x")'
    )
    head, *faults, call, signature, doc, end = report.splitlines()
    assert "Nothing of your block was run" in head
    assert [line.split(":")[0] for line in faults] == [
        "- line 1",
        "- line 2",
        "- line 4",
        "- line 5",
    ]
    assert "quantity: required, but missing" in report
    assert "quantty: there is no such argument" in report
    assert "did you mean totl?" in report
    assert call == "Call it like this:"
    assert signature == "def order(item: str, quantity: int, express: bool = False) -> str:"
    assert "Order something." in doc
    assert "Send the whole block again" in end


def test_a_block_of_many_faults_has_a_short_report() -> None:
    lines = [f"print(no_such_{number})" for number in range(1_000)]
    assert len(complaint("\n".join(lines))) < 2_000


@pytest.mark.parametrize(
    ("first", "second", "is_reported"),
    [
        ("x = 1", "print(x)", False),
        ("x = 1", "print(y)", True),
        ("def f():\n    global x\n    x = 1", "print(x)", False),
        ("def f():\n    x = 1", "print(x)", True),
        ("exec('x = 1')", "print(x)", False),
        ("from json import *", "print(dumps)", False),
        ("stock = 3", "stock(1, 2, 3)", True),  # the sandbox binds tools again at each block
        ("DEBUG = False", "if DEBUG:\n    missing_hook()", False),
        ("DEBUG = False", "DEBUG = not DEBUG\nif DEBUG:\n    stock()", True),
    ],
)
def test_what_earlier_blocks_bind_is_known(first: str, second: str, *, is_reported: bool) -> None:
    assert bool(complaint(first, second)) is is_reported


def test_a_block_that_was_not_run_binds_nothing() -> None:
    checker = new_check()
    with pytest.raises(MalformedReply, match="missing_name"):
        checker.check(ast.parse("x = 1\nmissing_name"), TOOLS)
    with pytest.raises(MalformedReply, match="x is not defined"):
        checker.check(ast.parse("print(x)"), TOOLS)


@pytest.mark.parametrize(
    ("code", "is_reported"),
    [
        ("if stock('tea') < 3:\n    notify_all()", False),  # a branch may never be taken
        ("total = 3\nif stock('tea') < 3:\n    print(totl)", True),  # a slip
        ("if stock('tea') < 3:\n    print(json.dumps(1))", True),  # a forgotten import
        ("if stock('tea') < 3:\n    stock()", True),  # wrong in any branch
        ("for x in stock('tea'), 1:\n    if x: break\nmissing_thing()", True),
        ("for x in [1]:\n    if x: final_answer(x)\nmissing_thing()", False),
        ("try:\n    stock()\nexcept ValueError:\n    pass", True),
        ("try:\n    stock()\nexcept (ValueError, TypeError):\n    pass", False),
        ("def f():\n    stock()", False),
        ("def f():\n    stock()\nf()", True),
        ("def f():\n    stock()\nprint(f)", False),
        ("def f(x):\n    stock()\nlist(map(f, [1]))", True),
        ("class A:\n    def f(self):\n        stock()\nA().f()", True),
        ("class A:\n    def f(self):\n        stock()\nA()", False),
        ("def stock():\n    return 1\nstock()", False),
        ("print([stock() for stock in (int,)])", False),
        ("order(*['tea', 1, 2, 3, 4])", False),
        ("order('tea', **{'qty': 1})", False),
        ("rate(f'{1}')", True),  # no text is a list
        ("order('tea', f'{1}')", False),  # a text may be a number
        ("get_weather('Oslo', f'{1}')", False),
    ],
)
def test_only_what_is_certain_is_reported(code: str, *, is_reported: bool) -> None:
    assert bool(complaint(code)) is is_reported


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="annotations are evaluated on demand")
def test_annotations_are_names_too() -> None:
    code = "def f(x: Frame) -> None: ..."
    assert "Frame" in complaint(code)
    assert not complaint(f"from __future__ import annotations\n{code}")


def test_a_deep_block_is_checked() -> None:
    chain = "if x == 0:\n    y = 0\n" + "".join(
        f"elif x == {number}:\n    y = {number}\n" for number in range(480)
    )
    assert "y_y" in complaint(f"x = {' + '.join(['1'] * 480)}\n{chain}print(y_y)")


def _runs(**options: Any) -> TinyCodeAgent[Any]:
    replies = ["```python\norder('tea', 1)\nprint(data)\n```", "final_answer('done')"]
    return TinyCodeAgent(ScriptedModel(replies), [order, stock], **options)


async def test_nothing_of_a_block_with_a_fault_runs() -> None:
    calls: list[str] = []

    def pay(amount: float) -> str:
        """Pay."""
        calls.append(str(amount))
        return "paid"

    replies = ["```python\npay(3)\npay(amout=4)\n```", "```python\nfinal_answer(pay(5))\n```"]
    agent = TinyCodeAgent(ScriptedModel(replies), [pay])
    events = [event async for event in agent.stream("go")]
    assert calls == ["5.0"]
    (rejected,) = [event for event in events if isinstance(event, ReplyRejected)]
    assert "- line 2: `pay(amout=4)`: " in rejected.reason
    assert "amout: there is no such argument" in rejected.reason
    assert "def pay(amount: float) -> str:" in rejected.reason


async def test_names_in_an_executor_of_the_caller_are_not_known() -> None:
    async with ProcessExecutor() as executor:
        executor.inject("data", [1, 2])
        result = await _runs(executor=executor).run("go", return_result=True)
    assert result.steps[0].observation == "[1, 2]"
    result = await _runs().run("go", return_result=True)
    assert "data is not defined" in result.steps[0].observation


async def test_a_middleware_may_put_code_before_a_block() -> None:
    class Prelude(Middleware):
        async def code_run(self, code: str, call_next: Callable[[str], Any]) -> ExecutionResult:
            result: ExecutionResult = await call_next(f"data = 3\n{code}")
            return result

    result = await _runs(middleware=[Prelude()]).run("go", return_result=True)
    assert result.steps[0].observation == "3"


def test_calls_are_checked_where_names_and_imports_are_not_known() -> None:
    checker = CodeCheck(HELPERS, None, knows_names=False, is_module=False)
    checker.check(ast.parse("import anything\nawait nothing(x)"), TOOLS)
    with pytest.raises(MalformedReply, match="quantity: required"):
        checker.check(ast.parse("order('tea')"), TOOLS)
    checker.check(ast.parse("order = 3"), TOOLS)
    checker.check(ast.parse("order('tea')"), TOOLS)


def test_every_prefix_of_the_programs_is_checked_without_a_crash() -> None:
    for program in itertools.islice([*ORDINARY, *WRONG], 0, None, 5):
        for block in program.blocks:
            lines = block.code.split("\n")
            for end in range(1, len(lines)):
                try:
                    tree = ast.parse("\n".join(lines[:end]))
                except SyntaxError:
                    continue
                with suppress(MalformedReply):
                    new_check().check(tree, TOOLS)


@pytest.mark.parametrize(
    "code",
    [
        "a" * 190_000,
        "\n".join(f"import mod_{n}" for n in range(9_000)),
        "\n".join(f"near_{n} = 1" for n in range(4_000)) + "\nneap_" + "\nneap_".join("0123456789"),
        "\n".join("def f():\n    f(); missing" for _ in range(6_000)) + "\nmissing\nf()",
    ],
    ids=["a long name", "many imports", "names like many others", "many functions of one name"],
)
def test_a_report_on_much_code_is_short(code: str) -> None:
    with pytest.raises(MalformedReply) as caught:
        new_check().check(ast.parse(code), TOOLS)
    assert len(str(caught.value)) < 5_000
