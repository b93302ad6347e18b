from __future__ import annotations

from typing import Any

import pytest

from tinyagent.execution.local import LocalExecutor
from tinyagent.execution.protocol import ExecutionResult


async def run(code: str, **injected: Any) -> ExecutionResult:
    async with LocalExecutor() as executor:
        for name, value in injected.items():
            executor.inject(name, value)
        return await executor.run(code)


@pytest.mark.parametrize(
    ("code", "near"),
    [
        ("total = 1\nprint(totl)", "total"),
        ("sort([2, 1])", "sorted"),
        ("lookup_fac(1)", "lookup_fact"),
        ("def f():\n    return final_anser(1)\nf()", "final_answer"),
        ("[].apend(1)", "append"),
    ],
)
async def test_an_error_names_what_may_have_been_meant(code: str, near: str) -> None:
    result = await run(code, lookup_fact=str)
    assert result.error is not None
    assert f"Did you mean {near}" in result.error.splitlines()[-1]


@pytest.mark.parametrize(
    "code",
    [
        "1 / 0",
        "qqqqzzzz",
        "open('x')",
        "class E(NameError):\n    name = property(lambda self: print('asked'))\nraise E",
        "class S(str):\n    def __getitem__(self, i): exit()\nraise NameError('', name=S('totl'))",
    ],
)
async def test_other_errors_have_no_hint_and_nothing_is_asked(code: str) -> None:
    result = await run(code)
    assert result.error is not None
    assert "Did you mean" not in result.error
    assert result.output == ""


@pytest.mark.parametrize(
    "line",
    [
        "from helpers import recall",
        "from tools import recall, final_answer",
        "import recall",
        "from os import recall as recall",
    ],
)
async def test_an_import_of_what_is_there_is_passed_over(line: str) -> None:
    result = await run(f"{line}\nfinal_answer(recall(2))", recall=lambda key: key + 1)
    assert (result.error, result.final_value) == (None, 3)


@pytest.mark.parametrize(
    "line",
    ["from helpers import recall as r", "from helpers import recall, other", "import os, recall"],
)
async def test_an_import_of_anything_else_is_refused(line: str) -> None:
    result = await run(f"{line}\nfinal_answer(recall(2))", recall=lambda key: key)
    assert "is not allowed" in (result.error or "")
