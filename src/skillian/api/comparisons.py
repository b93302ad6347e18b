"""Comparisons without a model, stored so that other and later processes know them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from time import monotonic
from typing import Any

from skillian.api.changes import changes_of
from skillian.api.problems import ProblemError
from skillian.data.comparison import Depth
from skillian.data.comparison.explain.explanation import Explanation
from skillian.data.declare.saved import SavedComparison
from skillian.data.engine import ComparisonEngine
from skillian.data.query.catalogue import Sample
from skillian.data.results.result import ComparisonResult
from skillian.data.services import DataServices
from skillian.data.tables.engine import TablePreview
from skillian.data.tables.why.results import Report, Why
from skillian.errors import InvalidInputError
from skillian.reports.outcome import Compared, Outcome, explained
from skillian.storage import MessageTooLong, SessionStore
from skillian.tasks import Progress
from skillian.uploads.limits import UploadNotFound
from skillian.uploads.store import UploadStore
from skillian.uploads.tables import PREFIX, opened, upload_ids

PREVIEW_ROWS = 5
_CHANGED = (
    "A source has changed since this comparison, whose stored result stays as it is; compare again"
    " to see what differs now."
)
REPORT_DEPTH = Depth(groups=1000, drilled=5)


class Comparisons:
    """Compares, and finds comparisons by their cache key.

    A source that is named `upload:ID` is a file of the owner; what was found in it is only for
    this owner, and is deleted with the file.

    Args:
        data: Compares.
        store: Keeps each result, with its question, as long as the engine does.
        uploads: The uploaded files.
    """

    def __init__(self, data: DataServices, store: SessionStore, uploads: UploadStore) -> None:
        self._data = data
        self._store = store.comparisons
        self._uploads = uploads

    async def compare(
        self, question: SavedComparison, owner: str, progress: Progress | None = None
    ) -> dict[str, Any]:
        """The result as JSON; `progress` is that of the engine.

        Raises as the engine does, and `InvalidInputError` if the filters leave no rows.
        """
        async with self._engine(question, owner) as (engine, named):
            result = await engine.compare(named, progress)
        if result.is_unanswered:
            raise InvalidInputError(result.sentences[0])
        body = result.to_dict()
        await self._keep(question, owner, body)
        return body

    async def _keep(self, question: SavedComparison, owner: str, body: dict[str, Any]) -> None:
        """Store a result with its question."""
        expires = timedelta(seconds=self._data.registry.comparison.cache_ttl_seconds)
        stored: dict[str, Any] = {
            "question": question.model_dump(mode="json", exclude_defaults=True),
            "result": body,
        }
        if upload_ids((question.a, question.b)):
            stored["owner"] = owner
        key = str(body["cache_key"])
        try:
            await self._store.put(key, stored, expires)
        except MessageTooLong as error:
            stored["result"] = _without_values(body, error.limit)
            with suppress(MessageTooLong):  # then only this process knows it
                await self._store.put(key, stored, expires)

    @asynccontextmanager
    async def compared_for_history(
        self, question: SavedComparison, owner: str, progress: Progress
    ) -> AsyncGenerator[Compared]:
        """Compare, never from the cache; raises as `compare`.

        The groups or rows can be read until the context ends.
        """
        start = monotonic()
        async with (
            self._engine(question, owner) as (engine, named),
            engine.kept(named, progress, again=True) as result,
        ):
            await self._keep(question, owner, result.to_dict())
            yield Compared(question, monotonic() - start, result)

    @asynccontextmanager
    async def recalled_for_history(
        self, question: SavedComparison, key: str, owner: str
    ) -> AsyncGenerator[Compared]:
        """The result of this key, as `compared_for_history` has one; raises as `recall`."""
        start = monotonic()
        with self._data.engine.holding(key):
            yield Compared(question, monotonic() - start, await self.recall(key, owner))

    async def changes(
        self, question: SavedComparison, key: str, owner: str, at: str
    ) -> Mapping[str, Sequence[dict[str, Any]]]:
        """What differs in each finding of a result, as `changes_of` has it.

        Nothing is compared for this: there are none if this process no longer keeps the result, or
        if it is not the one that was computed at this time.

        Raises:
            ProblemError: There is no such result, or it is not for this owner (404).
        """
        await self._stored(key, owner)
        with self._data.engine.holding(key):
            try:
                result = self._data.engine.remembered(key)
            except InvalidInputError:
                return {}
            if result.started != at:
                return {}
            return await changes_of(self._data.engine, Compared(question, 0, result))

    @asynccontextmanager
    async def _engine(
        self, question: SavedComparison, owner: str
    ) -> AsyncGenerator[tuple[ComparisonEngine, SavedComparison]]:
        """The engine that knows the sources of a question, and the question with their names."""
        if not upload_ids((question.a, question.b)):
            yield self._data.engine, question
            return
        async with self._opened(question, owner) as (data, named):
            yield data.engine, named

    async def check(self, question: SavedComparison, owner: str) -> str:
        """Raise the errors that `compare` would raise before it begins.

        Returns:
            The names of both sources, for a reader.
        """
        if upload_ids((question.a, question.b)):
            async with self._opened(question, owner) as (data, named):
                await data.engine.check(named)
                return f"{named.a} and {named.b}"
        await self._data.engine.check(question)
        return f"{question.a} and {question.b}"

    async def sides(self, question: SavedComparison, owner: str) -> str:
        """What is compared, for a reader; also if a file is another key's, or was deleted."""
        return " and ".join([await self._label(each, owner) for each in (question.a, question.b)])

    async def _label(self, name: str, owner: str) -> str:
        for upload_id in upload_ids((name,)):
            try:
                return (await self._uploads.get(owner, upload_id)).name
            except UploadNotFound:
                return "a file that is not available"
        return name

    async def find(self, key: str, owner: str = "") -> dict[str, Any]:
        """The result of this key as JSON; that of a file only for its owner.

        Raises:
            ProblemError: There is none, or it has expired (404).
        """
        stored = await self._stored(key, owner)
        if stored is None:
            return self._data.engine.remembered(key).to_dict()
        result: dict[str, Any] = stored["result"]
        return result

    async def stored(self, keys: Collection[str]) -> Collection[str]:
        """Those of the keys whose results have not expired."""
        return await self._store.known(keys)

    def verdict(self, question: SavedComparison, key: str) -> str:
        """The verdict on a result; empty if this process does not keep it."""
        try:
            return Compared(question, 0, self._data.engine.remembered(key)).verdict
        except InvalidInputError:
            return ""

    async def recall(self, key: str, owner: str = "") -> ComparisonResult:
        """The result, whose groups or rows the engine of this process then knows.

        The comparison of another process is made again. Raises as `find` and the engine do.

        Raises:
            ProblemError: It has another result than the one that is stored (409).
        """
        stored = await self._stored(key, owner)
        with suppress(InvalidInputError):
            return self._data.engine.remembered(key)
        if stored is None:
            raise _unknown()
        question = SavedComparison.model_validate(stored["question"])
        async with self._engine(question, owner) as (engine, named):
            again = await engine.compare(named, key=key)
        if again.cache_key != key:
            raise _unknown()
        if _numbers(again.to_dict()) != _numbers(stored["result"]):
            await self._data.engine.forget(key)
            raise ProblemError(409, "comparison_changed", _CHANGED)
        return again

    async def why(
        self, key: str, owner: str = "", report: Report | None = None
    ) -> Why | Explanation:
        """What explains the rows that differ, or who carries the gap of measures.

        Args:
            key: The cache key of the comparison.
            owner: Who asks.
            report: Gets what is tried.

        Raises:
            ProblemError: As `recall`.
            ToolError: The rows that differ are not kept, or a database refuses.
        """
        await self.recall(key, owner)
        async with self._engine(await self.question(key, owner), owner) as (engine, _):
            return await engine.explain(key, report=report)

    async def report(self, key: str, owner: str = "") -> Outcome:
        """The content of a report on a comparison that is kept; raises as `recall` does."""
        start = monotonic()
        result = await self.recall(key, owner)
        compared = Compared(await self.question(key, owner), monotonic() - start, result)
        return await explained(self._data.engine, compared, REPORT_DEPTH, _unwatched)

    async def preview(
        self, question: SavedComparison, owner: str
    ) -> tuple[TablePreview, Sequence[Sample]]:
        """How whole rows would be compared, and the first rows of both sources."""
        async with self._opened(question, owner) as (data, named):
            samples = [
                await data.catalogue.sample(name, PREVIEW_ROWS) for name in (named.a, named.b)
            ]
            return await data.engine.tables.preview(named), samples

    async def tried(self, question: SavedComparison, owner: str) -> ComparisonResult:
        """What whole rows give if they are compared so; nothing of it is kept."""
        async with self._opened(question, owner) as (data, named):
            return await data.engine.tables.compute(named)

    async def forget_upload(self, owner: str, upload_id: str) -> None:
        """Delete a file of the owner, and all results about it; raises `UploadNotFound`."""
        await self._uploads.delete(owner, upload_id)
        await self.forget_results(upload_id)

    async def forget_results(self, upload_id: str) -> None:
        """Delete all results about a file."""
        await self._store.delete(f"{PREFIX}{upload_id}")

    async def has_files(self, question: SavedComparison, owner: str) -> bool:
        """Whether the files of the question are still there."""
        ids = upload_ids((question.a, question.b))
        return all([await self._uploads.has(owner, upload_id) for upload_id in ids])

    @asynccontextmanager
    async def _opened(
        self, question: SavedComparison, owner: str
    ) -> AsyncGenerator[tuple[DataServices, SavedComparison]]:
        """Engines that know the files of the question, and the question with their names."""
        if not question.subject.takes_files:
            raise InvalidInputError(
                "uploaded files are compared by whole rows: leave out `measures`"
            )
        names = question.a, question.b
        async with opened(self._uploads, owner, names, self._data) as (data, (a, b)):
            name = question.name.replace(question.a, a).replace(question.b, b)
            yield data, question.model_copy(update={"name": name, "a": a, "b": b})

    async def question(self, key: str, owner: str) -> SavedComparison:
        """What was compared; raises `ProblemError` (404) as `find` does."""
        stored = await self._stored(key, owner)
        if stored is None:
            question = self._data.engine.question(key)
            return question.model_copy(update={"name": f"{question.a} and {question.b}"})
        question = SavedComparison.model_validate(stored["question"])
        names = stored["result"]["source_a"], stored["result"]["source_b"]
        return question.model_copy(update={"name": " and ".join(names)})

    @property
    def engine(self) -> ComparisonEngine:
        """Compares."""
        return self._data.engine

    async def _stored(self, key: str, owner: str) -> dict[str, Any] | None:
        """What is stored under a key; None if only the engine of this process knows it.

        Raises:
            ProblemError: Nobody knows it, it has expired, or it is another owner's (404).
            UploadNotFound: A file of it was deleted.
        """
        stored = await self._store.find(key) if key.isalnum() and key.isascii() else None
        if stored is None:
            if self._data.engine.is_public(key):
                return None
            raise _unknown()
        if stored.get("owner", owner) != owner:
            raise _unknown()
        question = stored["question"]
        for upload_id in upload_ids((question["a"], question["b"])):
            await self._uploads.get(owner, upload_id)
        return stored


def _numbers(body: dict[str, Any]) -> str:
    """What a result counts and sums, which is the same if its sources are."""
    columns: list[dict[str, Any]] = body.get("columns", [])
    names = ("a", "b", "compared", "mismatches", "largest_gap")
    counted = [[column.get(name) for name in names] for column in columns]
    return json.dumps([body.get("rows"), counted, body.get("summary")])


def _unwatched(_doing: str) -> None:
    pass


def _without_values(body: dict[str, Any], limit: int) -> dict[str, Any]:
    """A result of rows without its values, and with a sentence that says so."""
    if "samples" not in body:
        return body
    sentence = (
        "Its samples and pairs of values are not stored, because they are larger than"
        f" {limit // 1024**2} MiB; compare again to see them."
    )
    return {
        **body,
        "columns": [{**column, "pairs": []} for column in body["columns"]],
        "samples": {name: [] for name in body["samples"]},
        "sentences": [*body["sentences"], sentence],
        "notes": [*body["notes"], sentence],
    }


def _unknown() -> ProblemError:
    return ProblemError(
        404,
        "comparison_not_found",
        "There is no such comparison, or it has expired; compare again.",
    )
