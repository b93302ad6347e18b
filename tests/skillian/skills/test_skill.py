from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from skillian.errors import QueryError, SourceNotFoundError
from skillian.skills.skill import SkillTool
from tinyagent import ReactAgent, ScriptedModel, scripted_call


class Input(BaseModel):
    source: str
    limit: int = 10


async def _run(asked: Input) -> Mapping[str, Any]:
    if asked.source == "missing":
        raise SourceNotFoundError("missing", ["ledger", "plan"])
    if asked.source == "broken":
        raise QueryError("the statement ran too long")
    if asked.source == "bug":
        raise ZeroDivisionError("postgres://user:secret@host/db")
    return {"source": asked.source, "limit": asked.limit}


TOOL = SkillTool("look", "Look into a source.", Input, _run)


async def test_a_valid_call_returns_the_result() -> None:
    assert await TOOL.aexecute(source="ledger", limit="3") == {"source": "ledger", "limit": 3}


async def test_invalid_arguments_are_a_validation_error_that_names_the_field() -> None:
    result = await TOOL.aexecute(limit="many")
    assert (result["error"], result["type"]) == (True, "validation_error")
    assert "source" in result["message"]
    assert "limit" in result["message"]


async def test_an_unknown_source_is_reported_with_the_available_ones() -> None:
    result = await TOOL.aexecute(source="missing")
    assert result["type"] == "not_found"
    assert set(result["available_sources"]) == {"ledger", "plan"}


async def test_a_failing_statement_is_a_query_error() -> None:
    result = await TOOL.aexecute(source="broken")
    assert result["type"] == "query_error"


async def test_an_exception_is_logged_and_hidden_from_the_model(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR, "skillian"):
        result = await TOOL.aexecute(source="bug")
    assert result["type"] == "runtime_error"
    assert "secret" not in json.dumps(result)
    assert "ZeroDivisionError" in caplog.text


async def test_an_agent_reads_the_error_object() -> None:
    model = ScriptedModel([scripted_call("look", source="missing"), "Not there."])
    result = await ReactAgent(model, [TOOL.as_tool()]).run("Look")
    assert json.loads(result.steps[0].results[0].content)["type"] == "not_found"
