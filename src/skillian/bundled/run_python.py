"""The tool `run_python`: code in the sandbox, with the last comparison as a data frame."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from cachetools import LRUCache
from pydantic import BaseModel, ConfigDict, Field

from skillian.bundled.code_results import KeptFiles, read_result
from skillian.bundled.comparison_frame import make_frame, make_summary, read_groups
from skillian.bundled.interpreters import Interpreter, Interpreters
from skillian.data.for_models import refuse_hidden
from skillian.data.services import DataServices
from skillian.errors import UnavailableError, how_to_install
from skillian.skills.skill import SkillTool, session_id
from tinyagent import Artifact, SandboxUnavailable

LONGEST_CODE = 20_000
MOST_SESSIONS = 10_000

DESCRIPTION = (
    "Run Python in a sandbox: no network, no files but its own. `comparison` is a pandas data frame"
    " of the groups that differ in the last comparison: its dimensions, status, rows_a, rows_b, and"
    " for a measure such as amount: amount_a, amount_b, amount_gap, amount_absolute_diff,"
    " amount_percentage_diff, as exact Decimals. `summary` is a dict. What is printed, the value of"
    " the last expression (a data frame as a table) and matplotlib figures come back. Variables"
    " live on."
)


class RunPythonInput(BaseModel):
    """The arguments of `run_python`."""

    model_config = ConfigDict(extra="forbid")

    code: str = Field(min_length=1, max_length=LONGEST_CODE, description="Python statements.")
    cache_key: str | None = Field(
        None, description="Which comparison; leave out for the last one, or for none."
    )


class LastComparisons:
    """Which comparison each session made last."""

    def __init__(self) -> None:
        self._keys: LRUCache[str, str] = LRUCache(MOST_SESSIONS)

    def note(self, cache_key: str) -> None:
        """This is the last one of the session whose call it is."""
        if session_id():
            self._keys[session_id()] = cache_key

    def find(self) -> str | None:
        """The last one of the session whose call it is."""
        return self._keys.get(session_id())


class RunPython:
    """Runs code for sessions, over these services; close it."""

    def __init__(self, services: DataServices, last: LastComparisons) -> None:
        self._services = services
        self._last = last
        self._interpreters = Interpreters()
        self._files = KeptFiles()

    async def run(self, asked: RunPythonInput) -> Mapping[str, Any]:
        """Run the code; what it does wrong is in the result.

        Raises:
            InvalidInputError: the comparison that was named is not known any more.
            UnavailableError: pandas or the sandbox is not there, or values are hidden.
        """
        _require_pandas()
        async with self._interpreters.use(session_id()) as interpreter:
            await self._bring(interpreter, asked.cache_key)
            try:
                result = await interpreter.executor.run(asked.code)
            except SandboxUnavailable:
                raise UnavailableError(
                    "this machine has no sandbox to run code in; `tinyagent doctor` says why"
                ) from None
            told = read_result(result, self._files)
            if result.state_lost:
                told["note"] = "The variables of earlier calls are gone."
            return {**told, "comparison": interpreter.comparison}

    def find_artifact(self, name: str) -> Artifact | None:
        """The file that a result named by this id, while it is kept."""
        return self._files.find(name)

    async def aclose(self) -> None:
        """End all code."""
        self._interpreters.close()

    async def _bring(self, interpreter: Interpreter, asked: str | None) -> None:
        """Make the comparison known to the code, unless it is already."""
        key = asked or self._last.find()
        if key is None or key == interpreter.comparison:
            return
        engine = self._services.comparison
        result = engine.remembered(key)
        refuse_hidden(self._services.registry, (result.source_a, result.source_b))
        measures = [measure.name for measure in result.summary.measures]
        rows, total = await read_groups(engine, key)
        interpreter.executor.inject("comparison", make_frame(result.proof.align_on, measures, rows))
        interpreter.executor.inject("summary", make_summary(result, len(rows), total))
        interpreter.comparison = key


def python_tool(services: DataServices, last: LastComparisons) -> SkillTool:
    """The tool, over these services."""
    runner = RunPython(services, last)
    return SkillTool(
        "run_python", DESCRIPTION, RunPythonInput, runner.run, holdings=runner, idempotent=True
    )


def _require_pandas() -> None:
    if find_spec("pandas") is None:
        raise UnavailableError(
            "run_python needs pandas, which is not installed here; a person can add it:"
            f" {how_to_install('python')}"
        )
