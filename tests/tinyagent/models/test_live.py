"""The program behind `make test-live`, without a real provider."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

from tests.support.live import CHECKS, MODELS
from tests.tinyagent.models.test_capabilities import MODELS as TABLE

from tinyagent.models.providers import PROVIDERS
from tinyagent.testing import StrictServer
from tinyagent.testing.strict.script import Received

PROGRAM = Path(__file__).parents[2] / "support" / "live.py"
KEYS = ("_API_KEY", "_BASE_URL")


async def _live(*arguments: str, **environment: str) -> tuple[int | None, str, str]:
    given = {key: value for key, value in os.environ.items() if not key.endswith(KEYS)}
    given.pop("CI", None)
    process = await asyncio.create_subprocess_exec(
        sys.executable, PROGRAM, *arguments, env=given | environment, stdout=PIPE, stderr=PIPE
    )
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


def test_it_tries_each_provider_of_the_table() -> None:
    assert [name.partition(":")[0] for name in MODELS] == list(TABLE)


async def test_without_keys_it_says_which_variables_to_set() -> None:
    code, out, _ = await _live()
    assert code == 0
    first, *lines = out.splitlines()
    assert first.startswith("nothing was tried:")
    assert len(lines) == len(MODELS)
    for provider in PROVIDERS.values():
        end = "API_KEY" if provider.needs_key else "BASE_URL"
        assert re.search(rf"skipped: +set {provider.variables}_{end}\n", out)


async def test_it_makes_no_calls_in_ci() -> None:
    assert (await _live(CI="true", DEEPSEEK_API_KEY="k"))[0] == 2


async def test_each_capability_is_tried_and_the_cost_is_printed() -> None:
    async with StrictServer("deepseek", _reply) as server:
        address = {"DEEPSEEK_BASE_URL": server.base_url, "DEEPSEEK_API_KEY": "secret"}
        code, out, err = await _live("deepseek:deepseek-chat", **address)
        assert server.refusals == []
    assert (code, err) == (1, "")
    lines = [line.split()[1:] for line in out.splitlines()]
    assert [line[0] for line in lines] == [*(check.__name__ for check in CHECKS), "cost"]
    by_name = {line[0]: line[1] for line in lines}
    assert by_name["images"] == "ok"
    assert by_name["documents"] == by_name["tools"] == "FAILED:"
    assert by_name["cost"].startswith("$0.0")
    assert "secret" not in out


def _reply(received: Received) -> str:
    return "Red." if received.attachments else "No."


async def test_an_object_that_is_not_a_model_is_reported() -> None:
    code, _, err = await _live("gpt-4.1")
    assert (code, err) == (1, "Error: 'gpt-4.1' is not of the form provider:model\n")
