"""Results of code for a model to read: bounded text, tables as rows, files by id."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from cachetools import TTLCache

from skillian.data.for_models import brief_value
from tinyagent import Artifact
from tinyagent.core import ExecutionResult

MOST_TABLES = 3
MOST_ROWS = 50
MOST_CELLS = 400
LONGEST_TABLE = 4000
"""The maximum size of a table, in characters, so that a conversation has room for all tables."""
LONGEST_VALUE = 2000
LONGEST_ERROR = 2000
MOST_FILES = 8
CACHE_BYTES = 64 * 1024 * 1024
CACHE_SECONDS = 3600.0


class ArtifactCache:
    """Files that results name, kept for a while; anyone who knows the id of a file can read it."""

    def __init__(self) -> None:
        self._files: TTLCache[str, Artifact] = TTLCache[str, Artifact](
            CACHE_BYTES, CACHE_SECONDS, getsizeof=lambda file: len(file.data)
        )

    def add(self, artifacts: Sequence[Artifact]) -> list[dict[str, Any]]:
        """Add files.

        Returns:
            The description of each file for the result.
        """
        return [
            {
                "id": self._add(artifact),
                "name": artifact.name,
                "media_type": artifact.media_type,
                "bytes": len(artifact.data),
            }
            for artifact in artifacts[:MOST_FILES]
        ]

    def find(self, name: str) -> Artifact | None:
        """The file with this id; None if it is no longer available."""
        return self._files.get(name)

    def _add(self, artifact: Artifact) -> str | None:
        name = secrets.token_urlsafe(16)
        try:
            self._files[name] = artifact
        except ValueError:  # larger than the cache
            return None
        return name


def read_result(result: ExecutionResult, files: ArtifactCache) -> dict[str, Any]:
    """The result as JSON; an error of the code is `code_error`."""
    value = result.final_value if result.is_final else result.value
    frames = list(_frames(value))[:MOST_TABLES]
    text = "" if frames else _text(value, result)
    return {
        "output": result.output,
        "value": f"{text[:LONGEST_VALUE]}… ({len(text)} characters)"
        if len(text) > LONGEST_VALUE
        else text or None,
        "tables": [_table(frame) for frame in frames],
        "artifacts": files.add(result.artifacts),
        # The end of a traceback has the error.
        "code_error": result.error and result.error[-LONGEST_ERROR:],
    }


def _text(value: object, result: ExecutionResult) -> str:
    if value is None:
        return ""
    return repr(value) if result.is_final else result.value_text


def _frames(value: object) -> Iterator[Any]:
    """The data frames that a value is or contains."""
    if _is_frame(value):
        yield value
    elif isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        yield from (each for each in items if _is_frame(each))
    elif isinstance(value, Mapping):
        mapping = cast("Mapping[object, object]", value)
        yield from (each for each in mapping.values() if _is_frame(each))


def _is_frame(value: object) -> bool:
    """Whether a value is a pandas data frame, without importing pandas, which is optional."""
    return hasattr(value, "itertuples") and hasattr(value, "reset_index")


def _table(frame: Any) -> dict[str, Any]:
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    columns = [str(name) for name in frame.columns]
    limit = max(1, min(MOST_ROWS, MOST_CELLS // max(1, len(columns))))
    rows: list[list[object]] = []
    room = LONGEST_TABLE
    for values in _rows(frame.head(limit)):
        row = [_cell(value) for value in values]
        room -= sum(len(str(cell)) for cell in row)
        if room < 0 and rows:
            break
        rows.append(row)
    return {"columns": columns, "rows": rows, "total_rows": len(frame)}


def _rows(frame: Any) -> Iterator[tuple[Any, ...]]:
    yield from frame.itertuples(index=False, name=None)


def _cell(value: Any) -> object:
    is_missing = value is None or value != value  # noqa: PLR0124 - NaN is pandas' NULL
    return None if is_missing else brief_value(value)
