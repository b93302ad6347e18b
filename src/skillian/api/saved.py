"""Saved comparisons: named, shared by link, run again in the background, with their history."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from datetime import UTC, date, datetime
from functools import partial
from time import monotonic
from typing import Any, TypeVar

from sqlalchemy import Connection

from skillian.api.comparisons import Comparisons
from skillian.api.jobs import Ended
from skillian.api.problems import ProblemError
from skillian.api.runs import Runs
from skillian.data.declare.saved import SavedComparison
from skillian.errors import ToolError
from skillian.history.store import History, PastRun
from skillian.reports.outcome import Failed, Outcome
from skillian.reports.tracking import recording
from skillian.storage import SessionStore
from skillian.storage.saved import SavedRecord
from skillian.tasks import Progress
from skillian.uploads.tables import PREFIX

MOST = 200
"""The maximum number of saved comparisons of a key."""
TREND = 50
"""How many runs the trend shows."""

JsonObject = dict[str, Any]
T = TypeVar("T")

logger = logging.getLogger("skillian")


class SavedComparisons:
    """The saved comparisons of a service. Their owner changes them; others may read shared ones.

    Args:
        comparisons: Compares.
        runs: Runs in the background.
        store: Keeps the questions, and in the same database their history.
    """

    def __init__(self, comparisons: Comparisons, runs: Runs, store: SessionStore) -> None:
        self._comparisons = comparisons
        self._runs = runs
        self._store = store.saved

    async def save(self, owner: str, name: str, question: SavedComparison) -> SavedRecord:
        """Save a question under a name; raises what `Comparisons.check` raises."""
        await self._comparisons.check(question, owner)
        body = question.model_dump(mode="json", exclude_defaults=True)
        record = await self._store.add(owner, name, body, MOST)
        if record is None:
            detail = f"This key has {MOST} saved comparisons; delete one that is not needed."
            raise ProblemError(409, "too_many_saved", detail)
        return record

    async def save_result(self, owner: str, name: str, key: str) -> SavedRecord:
        """Save the question of a result, which is the first run of its history.

        Raises as `Comparisons.question` and `save` do. A result that can no longer be read is not
        a run.
        """
        question = await self._comparisons.question(key, owner)
        record = await self.save(owner, name, question)
        named = question.model_copy(update={"name": record.history_name})
        try:
            async with self._comparisons.recalled_for_history(named, key, owner) as outcome:
                await self._record(record, key, outcome, outcome.result.started)
        except (ToolError, ProblemError) as error:
            logger.warning("a result was saved without its findings: %s", error)
            await self._store.has_run(record, key)
        await self._forget_findings([record])  # its files may be deleted by now
        return record

    async def list(self, owner: str) -> Sequence[SavedRecord]:
        """Those of the owner, newest first."""
        return await self._store.list(owner)

    async def last_runs(self, owner: str) -> Mapping[str, PastRun]:
        """The last run of each comparison of the owner that has run, by its id."""
        ids = {record.history_name: record.id for record in await self.list(owner)}
        if not ids:
            return {}
        runs = await self._with_history(lambda history: history.latest([*ids]))
        return {ids[run.comparison]: run for run in runs}

    async def get(self, owner: str, saved_id: str) -> SavedRecord:
        """One that this key may open.

        Raises:
            ProblemError: There is none of this id, or it is another key's and not shared (404).
        """
        record = await self._store.get(owner, saved_id)
        if record is None:
            raise _unknown()
        return record

    async def report(self, owner: str, saved_id: str) -> JsonObject:
        """It with its runs, newest first, and its findings; raises as `get` does."""
        record = await self.get(owner, saved_id)
        name, today = record.history_name, datetime.now(UTC).date()

        def read(history: History) -> JsonObject:
            return {
                "runs": [run.to_dict() for run in history.runs(name, TREND)],
                "findings": [each.to_dict(today) for each in history.findings(name)],
            }

        return {**saved_json(record, owner), **await self._with_history(read)}

    async def changes(self, owner: str, saved_id: str) -> Mapping[str, Sequence[JsonObject]]:
        """What differs in each finding of its last result, by the id of the finding.

        There are none if the result is no longer kept. Raises as `get` does.
        """
        record = await self.get(owner, saved_id)
        name, key = record.history_name, record.last_key
        runs = await self._with_history(lambda history: history.runs(name, TREND))
        at = next((run.at for run in runs if run.verdict != "failed"), "")
        with suppress(ProblemError, ToolError):
            return await self._comparisons.changes(_question(record), key, owner, at)
        return {}

    async def accept(
        self, owner: str, saved_id: str, note: str, due: date | None
    ) -> tuple[int, int]:
        """Mark all findings of the last run as known.

        Returns:
            How many are known from now on, and how many are not tracked one by one and stay new.

        Raises:
            ProblemError: The owner has no comparison of this id (404).
            InvalidInputError: The note is too long.
        """
        name = (await self._own(owner, saved_id)).history_name

        def work(history: History) -> tuple[int, int]:
            return len(history.accept(name, note, due)), history.untracked(name)

        return await self._with_history(work)

    async def start(self, owner: str, saved_id: str) -> JsonObject:
        """Compare again in the background; the run as JSON. Raises as `get` and `Runs.compare`."""
        record = await self.get(owner, saved_id)

        async def work(question: SavedComparison, progress: Progress) -> Ended:
            return await self._run(record, owner, question, progress)

        return await self._runs.compare(owner, _question(record), work, record.id)

    async def share(self, owner: str, saved_id: str, *, is_shared: bool) -> None:
        """Let every key open it, or only its owner; raises `ProblemError` (404)."""
        if not await self._store.share(owner, saved_id, is_shared=is_shared):
            raise _unknown()

    async def note(
        self, owner: str, saved_id: str, finding: str, note: str | None, due: date | None
    ) -> JsonObject:
        """Mark a finding as known, or remove its note with a `note` of None.

        Raises:
            ProblemError: The owner has no comparison of this id (404).
            InvalidInputError: There is no such open finding, or the note is too long.
        """
        record = await self._own(owner, saved_id)
        today = datetime.now(UTC).date()
        name = record.history_name
        changed = await self._with_history(lambda each: each.note(name, finding, note, due))
        return changed.to_dict(today)

    async def delete(self, owner: str, saved_id: str) -> None:
        """Delete it with its history; raises `ProblemError` (404)."""
        record = await self._own(owner, saved_id)
        name = record.history_name
        await self._store.delete(owner, saved_id, _in_history(lambda each: each.forget(name)))
        await self._runs.forget_saved(saved_id)

    async def forget_upload(self, owner: str, upload_id: str) -> None:
        """Delete a file of the owner, all results about it, and findings; raises `UploadNotFound`.

        The findings of saved comparisons with it hold keys of its rows; their runs, which are
        counts, stay.
        """
        await self._comparisons.forget_upload(owner, upload_id)
        await self._forget_findings(await self._store.asking(f"{PREFIX}{upload_id}"))
        await self._runs.forget_file(f"{PREFIX}{upload_id}")

    async def purge(self) -> None:
        """Delete the findings of all comparisons whose files are gone, for whatever reason."""
        await self._forget_findings(await self._store.asking(PREFIX))

    async def _forget_findings(self, records: Sequence[SavedRecord]) -> None:
        for record in records:
            name = record.history_name
            if not await self._comparisons.has_files(_question(record), record.owner):
                await self._with_history(partial(History.forget_findings, comparison=name))

    async def _own(self, owner: str, saved_id: str) -> SavedRecord:
        record = await self.get(owner, saved_id)
        if record.owner != owner:
            raise _unknown()
        return record

    async def _run(
        self, record: SavedRecord, owner: str, question: SavedComparison, progress: Progress
    ) -> Ended:
        """Compare, and add the run to the history."""
        named = question.model_copy(update={"name": record.history_name})
        start = monotonic()
        async with AsyncExitStack() as stack:
            compared = self._comparisons.compared_for_history(named, owner, progress)
            try:
                outcome = await stack.enter_async_context(compared)
            except ToolError as error:
                await self._record(record, "", Failed(named, monotonic() - start, str(error)))
                raise
            key = outcome.result.cache_key
            await self._record(record, key, outcome, outcome.result.started)
        # A file that is deleted from here on takes the findings with it.
        await self._forget_findings([record])
        return Ended(key, outcome.verdict)

    async def _record(
        self, record: SavedRecord, key: str, outcome: Outcome, at: str | None = None
    ) -> None:
        """Add a run to the history, unless the comparison was deleted in the meantime."""
        began = None if at is None else datetime.fromisoformat(at)
        work = await recording(self._comparisons.engine, outcome, began)
        await self._store.has_run(record, key, _in_history(work))

    async def _with_history(self, work: Callable[[History], T]) -> T:
        return await self._store.transact(_in_history(work))


def _in_history(work: Callable[[History], T]) -> Callable[[Connection], T]:
    return lambda connection: work(History(connection))


def saved_json(record: SavedRecord, owner: str) -> JsonObject:
    """The record as a client sees it."""
    return {
        "id": record.id,
        "name": record.name,
        "comparison": record.question,
        "shared": record.is_shared,
        "is_own": record.owner == owner,
        "cache_key": record.last_key or None,
        "created": record.created,
    }


def _question(record: SavedRecord) -> SavedComparison:
    return SavedComparison.model_validate(record.question)


def _unknown() -> ProblemError:
    return ProblemError(
        404, "saved_comparison_not_found", "There is no such saved comparison, or it is not shared."
    )
