"""The tool `run_python`: code in a sandbox, with the last comparison as a data frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from skillian.bundled.code_results import ArtifactCache, read_result
from skillian.bundled.sandboxes import Sandboxes, SessionSandbox
from skillian.data.for_code import in_code
from skillian.data.for_models import for_models, refuse_hidden
from skillian.data.services import DataServices
from skillian.errors import UnavailableError, missing_extra
from skillian.skills.skill import SkillTool, session_id
from tinyagent import Artifact, SandboxUnavailable

LONGEST_CODE = 20_000

DESCRIPTION = (
    "Run Python; its output, last value and figures come back. `comparison`: a data frame of what"
    " differs in the last comparison (dimensions, status, amount_a, amount_b, amount_gap, as"
    " Decimals; of rows class, differing, 'city a', 'city b')."
)


class RunPythonInput(BaseModel):
    """The arguments of `run_python`."""

    model_config = ConfigDict(extra="forbid")

    code: str = Field(min_length=1, max_length=LONGEST_CODE)
    cache_key: str | None = Field(None, description="Of another comparison.")


class RunPython:
    """Runs code, in one sandbox for each session. Close it after use.

    Args:
        services: The sources and the comparisons.
        last_comparison: Returns the key of the last comparison of the current session, if any.
    """

    def __init__(self, services: DataServices, last_comparison: Callable[[], str | None]) -> None:
        self._services = services
        self._last_comparison = last_comparison
        self._sandboxes = Sandboxes()
        self._files = ArtifactCache()

    async def run(self, arguments: RunPythonInput) -> Mapping[str, Any]:
        """Run the code; its errors are part of the result.

        Raises:
            InvalidInputError: The comparison is no longer in the cache.
            UnavailableError: There is no pandas or no sandbox, or values are hidden.
        """
        _require_pandas()
        async with self._sandboxes.use(session_id()) as sandbox:
            await self._inject(sandbox, arguments.cache_key)
            try:
                result = await sandbox.executor.run(arguments.code)
            except SandboxUnavailable:
                raise UnavailableError(
                    "this machine has no sandbox to run code in; `tinyagent doctor` says why"
                ) from None
            answer = read_result(result, self._files)
            if result.state_lost:
                answer["note"] = "The variables of earlier calls are lost."
            return {**answer, "comparison": sandbox.comparison}

    def find_artifact(self, name: str) -> Artifact | None:
        """The file with this id in a result; None if it is no longer available."""
        return self._files.find(name)

    async def aclose(self) -> None:
        """Close all sandboxes."""
        self._sandboxes.close()

    async def _inject(self, sandbox: SessionSandbox, cache_key: str | None) -> None:
        """Give the comparison to the code as `comparison` and `summary`, if it is a new one."""
        key = cache_key or self._last_comparison()
        if key is None or key == sandbox.comparison:
            return
        result = self._services.engine.public(key)
        refuse_hidden(self._services.registry, (result.source_a, result.source_b))
        frame, summary = await in_code(self._services.engine, result, for_models(result).in_code)
        sandbox.executor.inject("comparison", frame)
        sandbox.executor.inject("summary", summary)
        sandbox.comparison = key


def python_tool(services: DataServices, last_comparison: Callable[[], str | None]) -> SkillTool:
    """The tool; see `RunPython`."""
    runner = RunPython(services, last_comparison)
    return SkillTool(
        "run_python",
        DESCRIPTION,
        RunPythonInput,
        runner.run,
        state=runner,
        idempotent=True,
        sink="free",
    )


def _require_pandas() -> None:
    if find_spec("pandas") is None:
        raise UnavailableError(missing_extra("run_python", "python"))
