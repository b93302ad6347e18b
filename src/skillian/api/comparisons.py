"""Comparisons without a model, stored so that other and later processes know them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from time import monotonic
from typing import Any
from uuid import uuid4

from skillian.api.problems import ProblemError
from skillian.data.comparison.engine import ComparisonEngine
from skillian.data.comparison.place import Progress
from skillian.data.declare.saved import SavedComparison
from skillian.data.query.catalogue import Sample
from skillian.data.services import DataServices
from skillian.data.tables.engine import TablePreview
from skillian.errors import InvalidInputError
from skillian.history.findings import MAX_FINDINGS
from skillian.reports.formats import Depth
from skillian.reports.outcome import Compared, Outcome, RowsCompared
from skillian.reports.running import run_all
from skillian.storage import MessageTooLong, SessionStore
from skillian.uploads.limits import UploadNotFound
from skillian.uploads.store import UploadStore
from skillian.uploads.tables import PREFIX, opened, upload_ids

PREVIEW_ROWS = 5
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
        """The result as JSON; `progress` and errors are those of the engines."""
        body = await self._compared(question, owner, progress)
        await self._keep(question, owner, body)
        return body

    async def _keep(self, question: SavedComparison, owner: str, body: dict[str, Any]) -> str:
        """Store a result with its question; returns its cache key."""
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
        return key

    @asynccontextmanager
    async def compared_for_history(
        self, question: SavedComparison, owner: str, progress: Progress
    ) -> AsyncGenerator[tuple[str, Compared | RowsCompared]]:
        """The cache key of the result, and the outcome with each finding; raises as `compare`.

        The engine knows the groups of the outcome until the context ends.
        """
        start = monotonic()
        if not question.is_of_rows:
            async with self._data.comparison.kept(question, progress) as result:
                key = await self._keep(question, owner, result.to_dict())
                yield key, Compared(question, monotonic() - start, result)
            return
        if upload_ids((question.a, question.b)):
            async with self._opened(question, owner) as (data, named):
                rows = await data.tables.compare(named, progress, listed=MAX_FINDINGS)
        else:
            rows = await self._data.tables.compare(question, progress, listed=MAX_FINDINGS)
        key = await self._keep(question, owner, {**rows.to_dict(), "cache_key": uuid4().hex})
        yield key, RowsCompared(question, monotonic() - start, rows)

    async def _compared(
        self, question: SavedComparison, owner: str, progress: Progress | None
    ) -> dict[str, Any]:
        if upload_ids((question.a, question.b)):
            async with self._opened(question, owner) as (data, named):
                rows = await data.tables.compare(named, progress)
                return {**rows.to_dict(), "cache_key": uuid4().hex}
        if question.is_of_rows:
            rows = await self._data.tables.compare(question, progress)
            return {**rows.to_dict(), "cache_key": uuid4().hex}
        return (await self._data.comparison.compare(question, progress)).to_dict()

    async def check(self, question: SavedComparison, owner: str) -> str:
        """Raise the errors that `compare` would raise before it begins.

        Returns:
            The names of both sources, for a reader.
        """
        if upload_ids((question.a, question.b)):
            async with self._opened(question, owner) as (_, named):
                return f"{named.a} and {named.b}"
        await self._check(question)
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

    async def _check(self, question: SavedComparison) -> None:
        if question.is_of_rows:
            for name in (question.a, question.b):
                self._data.registry.get(name)
            return
        await self._data.comparison.check(question)

    async def find(self, key: str, owner: str = "") -> dict[str, Any]:
        """The result of this key as JSON; that of a file only for its owner.

        Raises:
            ProblemError: There is none, or it has expired (404).
        """
        try:
            return self._data.comparison.remembered(key).to_dict()
        except InvalidInputError:
            result: dict[str, Any] = (await self._stored(key, owner))["result"]
            return result

    async def recall(self, key: str, owner: str = "") -> None:
        """Make the engine of this process know the comparison; raises as `find` and `compare` do.

        The comparison of another process is made again, so that its rows can be read.
        """
        try:
            self._data.comparison.remembered(key)
        except InvalidInputError:
            question = await self._question(key, owner)
            if question.is_of_rows:
                raise _no_groups() from None
            again = await self.compare(question, owner)
            if again["cache_key"] != key:
                raise _unknown() from None

    async def report(self, key: str, owner: str = "") -> Outcome:
        """The content of a report on a comparison; raises as `recall` does.

        Whole rows are compared again, because only the result in JSON is kept.
        """
        saved = await self._saved(key, owner)
        if not upload_ids((saved.a, saved.b)):
            [outcome] = await run_all(self._data, [saved], REPORT_DEPTH, _unwatched)
            return outcome
        async with self._opened(saved, owner) as (data, named):
            [outcome] = await run_all(data, [named], REPORT_DEPTH, _unwatched)
            return outcome

    async def preview(
        self, names: tuple[str, str], owner: str
    ) -> tuple[TablePreview, Sequence[Sample]]:
        """How two sources of whole rows would be compared, and their first rows."""
        question = SavedComparison(name="preview", a=names[0], b=names[1])
        async with self._opened(question, owner) as (data, named):
            samples = [
                await data.catalogue.sample(name, PREVIEW_ROWS) for name in (named.a, named.b)
            ]
            return await data.tables.preview(named), samples

    async def forget_upload(self, owner: str, upload_id: str) -> None:
        """Delete a file of the owner, and all results about it; raises `UploadNotFound`."""
        await self._uploads.delete(owner, upload_id)
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
        if not question.is_of_rows:
            raise InvalidInputError(
                "uploaded files are compared by whole rows: leave out `measures`"
            )
        names = question.a, question.b
        async with opened(self._uploads, owner, names, self._data.registry) as (data, (a, b)):
            name = question.name.replace(question.a, a).replace(question.b, b)
            yield data, question.model_copy(update={"name": name, "a": a, "b": b})

    async def _saved(self, key: str, owner: str) -> SavedComparison:
        try:
            question = self._data.comparison.question(key)
        except InvalidInputError:
            stored = await self._question(key, owner)
            name = f"{stored.a} and {stored.b}"
            if stored.is_of_rows:
                return stored.model_copy(update={"name": name})
            await self.recall(key, owner)
            question = self._data.comparison.question(key)
        return question.model_copy(update={"name": f"{question.a} and {question.b}"})

    async def question(self, key: str, owner: str) -> SavedComparison:
        """What was compared; raises `ProblemError` (404) as `find` does."""
        return await self._saved(key, owner)

    @property
    def engine(self) -> ComparisonEngine:
        """The engine that compares measures."""
        return self._data.comparison

    async def _question(self, key: str, owner: str) -> SavedComparison:
        return SavedComparison.model_validate((await self._stored(key, owner))["question"])

    async def _stored(self, key: str, owner: str) -> dict[str, Any]:
        stored = await self._store.find(key) if key.isalnum() and key.isascii() else None
        if stored is None or stored.get("owner", owner) != owner:
            raise _unknown()
        question = stored["question"]
        for upload_id in upload_ids((question["a"], question["b"])):
            await self._uploads.get(owner, upload_id)
        return stored


def _unwatched(_name: str, _doing: str) -> None:
    pass


def _without_values(body: dict[str, Any], limit: int) -> dict[str, Any]:
    """A result of rows without its values, and with a sentence that says so."""
    if body.get("kind") != "rows":
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


def _no_groups() -> ProblemError:
    return ProblemError(
        409,
        "rows_compared",
        "This comparison is of whole rows, and has no groups; read its samples, or its report.",
    )


def _unknown() -> ProblemError:
    return ProblemError(
        404,
        "comparison_not_found",
        "There is no such comparison, or it has expired; compare again.",
    )
