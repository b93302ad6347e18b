"""Uploaded files as sources of a comparison: `upload:ID` names a file of the owner."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from skillian.data.declare.definitions import Dimension, Source
from skillian.data.declare.sources import free_name, registry_of
from skillian.data.services import DataServices
from skillian.uploads.store import UploadStore

PREFIX = "upload:"


class Opened(NamedTuple):
    """The engines over files and other sources, and what these are called there."""

    data: DataServices
    names: tuple[str, ...]


def upload_ids(names: Sequence[str]) -> tuple[str, ...]:
    """The ids of the files among the names of sources."""
    return tuple(name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX))


@asynccontextmanager
async def opened(
    store: UploadStore, owner: str, names: Sequence[str], data: DataServices
) -> AsyncGenerator[Opened]:
    """Open engines over these sources, which only this owner can name.

    Args:
        store: The files.
        owner: Whose files.
        names: Sources, of which at least one is a file.
        data: The engines over the sources that are no files; it keeps the results.

    Raises:
        UploadNotFound: The owner has no such file.
        SourceNotFoundError: There is no such source.
    """
    declared = data.registry
    urls: dict[str, str] = {}
    sources: dict[str, Source] = {}
    called: dict[str, str] = {}
    for name in dict.fromkeys(names):
        if not name.startswith(PREFIX):
            sources[name] = declared.get(name)
            urls[sources[name].connection] = declared.declared_url(sources[name].connection)
            called[name] = name
    for name in dict.fromkeys(names):
        if name.startswith(PREFIX):
            upload = await store.get(owner, name.removeprefix(PREFIX))
            label = free_name(upload.name, [*urls, *sources])
            columns = (column for column, _ in upload.columns)
            # Not validated: the columns of a file may have any name.
            sources[label] = Source.model_construct(
                connection=label,
                table=upload.path.name,
                dimensions={c: Dimension.model_construct(column=c) for c in columns},
                measures={},
            )
            urls[label] = f"files:///{upload.path}"
            called[name] = label
    registry = registry_of(urls, sources, declared.folder, declared.comparison)
    async with DataServices(registry, data.memory) as over:
        yield Opened(over, tuple(called[name] for name in names))
