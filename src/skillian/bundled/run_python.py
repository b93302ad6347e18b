"""The tool `run_python`: code in a sandbox, with the last comparison as a data frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from decimal import Decimal
from importlib.util import find_spec
from typing import Any

import pyarrow  # noqa: ICN001 - see below # pyright: ignore[reportMissingTypeStubs]
from pydantic import BaseModel, ConfigDict, Field

from skillian.bundled.code_results import ArtifactCache, read_result
from skillian.bundled.sandboxes import Sandboxes, SessionSandbox
from skillian.data.comparison.page import Page
from skillian.data.comparison.rows import GroupRow
from skillian.data.engine import ComparisonEngine
from skillian.data.for_models import refuse_hidden
from skillian.data.results.result import ComparisonResult
from skillian.data.services import DataServices
from skillian.errors import UnavailableError, missing_extra
from skillian.skills.skill import SkillTool, session_id
from tinyagent import Artifact, SandboxUnavailable

pa: Any = pyarrow  # it has no types

LONGEST_CODE = 20_000
MOST_GROUPS = 10_000
_WHOLE = pa.decimal128(38, 0)
_NUMBERS = ("a", "b", "gap", "absolute_diff", "percentage_diff")

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
        inject = _groups_injected if result.measures else _rows_injected
        frame, summary = await inject(self._services.engine, result)
        sandbox.executor.inject("comparison", frame)
        sandbox.executor.inject("summary", summary)
        sandbox.comparison = key


async def _groups_injected(
    engine: ComparisonEngine, result: ComparisonResult
) -> tuple[Any, dict[str, Any]]:
    """The frame and the summary of a comparison of measures."""
    measures, key = [measure.name for measure in result.measures], result.cache_key
    rows: list[GroupRow] = []
    async for batch in engine.measures.all_rows(key, Page((), limit=MOST_GROUPS)):
        rows += batch
    frame = make_frame(result.key_columns, measures, rows)
    return frame, make_summary(result, len(rows), result.unmatched(minor=True))


async def _rows_injected(
    engine: ComparisonEngine, result: ComparisonResult
) -> tuple[Any, dict[str, Any]]:
    """The frame and the summary of a comparison of whole rows."""
    async with aclosing(engine.batches(result.cache_key, Page((), limit=MOST_GROUPS))) as batches:
        frame = make_row_frame([batch async for batch in batches])
    total = (await engine.rows(result.cache_key, Page((), limit=1))).total
    return frame, make_row_summary(result, len(frame), total)


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


def make_frame(align_on: Sequence[str], measures: Sequence[str], rows: Sequence[GroupRow]) -> Any:
    """The groups as an Arrow table, which the sandbox turns into a pandas data frame.

    Columns: the dimensions, `status`, `rows_a`, `rows_b`, and for each measure m: `m_a`, `m_b`,
    `m_gap`, `m_absolute_diff`, `m_percentage_diff`, all exact Decimals.
    """
    columns: dict[str, Any] = {
        name: _column(row.key.get(name) for row in rows) for name in align_on
    }
    columns["status"] = pa.array([row.status for row in rows], pa.string())
    columns["rows_a"] = pa.array([row.rows_a for row in rows], pa.int64())
    columns["rows_b"] = pa.array([row.rows_b for row in rows], pa.int64())
    for index, measure in enumerate(measures):
        for number in _NUMBERS:
            values = [getattr(row.measures[index], number) for row in rows]
            columns[f"{measure}_{number}"] = _decimals(values)
    return pa.table(columns)


def make_summary(result: ComparisonResult, count: int, total: int) -> dict[str, Any]:
    """The summary of the result, and how many groups the frame holds; amounts are strings."""
    return {
        "source_a": result.source_a,
        "source_b": result.source_b,
        "cache_key": result.cache_key,
        **result.summary.to_dict(),
        "groups_that_differ": total,
        "groups_in_comparison": count,
    }


def make_row_frame(batches: Sequence[Any]) -> Any:
    """The rows that differ as an Arrow table; integers with a NULL become Decimals as well."""
    table = pa.Table.from_batches(batches)
    columns = [
        column.cast(_WHOLE) if pa.types.is_integer(column.type) and column.null_count else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def make_row_summary(result: ComparisonResult, count: int, total: int) -> dict[str, Any]:
    """The summary of the result, and how many rows the frame holds."""
    return {
        "source_a": result.source_a,
        "source_b": result.source_b,
        "cache_key": result.cache_key,
        "key": list(result.key_columns),
        "rows": result.rows.to_dict(),
        "mismatches": {each.a: each.mismatches for each in result.columns if each.mismatches},
        "rows_that_differ": total,
        "rows_in_comparison": count,
    }


def _column(keys: Iterable[object]) -> Any:
    """Keys as they are; integers with a NULL become Decimals, because pandas would use floats."""
    values = list(keys)
    whole = [isinstance(value, int) and not isinstance(value, bool) for value in values]
    if any(whole) and not all(whole):
        return _decimals(values)
    # Without values Arrow would choose the type `null`, which the sandbox does not support.
    return pa.array(values) if any(v is not None for v in values) else pa.array(values, pa.string())


def _decimals(values: Sequence[Any]) -> Any:
    exact = [value if value is None else Decimal(value) for value in values]
    known = any(value is not None for value in exact)
    return pa.array(exact) if known else pa.array(exact, pa.decimal128(38, 2))
