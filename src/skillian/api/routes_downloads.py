"""Comparisons as files: the groups as CSV and as a workbook, the report as JSON."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import aclosing
from typing import IO, Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from skillian.api.routes_compare import GroupsQuery, Key
from skillian.api.service import Service, TheService
from skillian.api.stream import while_connected
from skillian.data.comparison.rows import GroupRow
from skillian.reports.as_json import write_json
from skillian.reports.spreadsheets import write_csv, write_xlsx

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_CHUNK = 65_536

router = APIRouter(tags=["comparisons"])
Wanted = Annotated[GroupsQuery, Query()]
Batches = AsyncGenerator[tuple[GroupRow, ...]]


def _file(media_type: str) -> dict[int | str, dict[str, object]]:
    return {200: {"content": {media_type: {}}}}


@router.get("/comparisons/{key}/rows.csv", response_class=Response, responses=_file("text/csv"))
async def rows_csv(key: Key, request: Request, service: TheService, wanted: Wanted) -> Response:
    """The groups as CSV; a text that a spreadsheet would take for a formula follows a `'`."""
    with service.slots.taken():
        await while_connected(request, service.comparisons.recall(key))
        result = service.data.comparison.remembered(key)
        batches = await while_connected(request, _started(_groups(service, key, wanted)))

    async def lines() -> AsyncIterator[bytes]:
        with service.slots.taken():
            async with aclosing(batches):
                async for part in write_csv(result, batches):
                    yield part

    return StreamingResponse(lines(), media_type="text/csv", headers=_attached(key, "csv"))


@router.get("/comparisons/{key}/rows.xlsx", response_class=Response, responses=_file(XLSX))
async def rows_xlsx(key: Key, request: Request, service: TheService, wanted: Wanted) -> Response:
    """The groups as a workbook, with a summary."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed once it is sent
    try:
        with service.slots.taken():
            await while_connected(request, _write(file, service, key, wanted))
    except BaseException:
        file.close()
        raise
    return StreamingResponse(_sent(file), media_type=XLSX, headers=_attached(key, "xlsx"))


@router.get(
    "/comparisons/{key}/report.json", response_class=Response, responses=_file("application/json")
)
async def report(key: Key, request: Request, service: TheService) -> Response:
    """The comparison as a report for programs."""
    with service.slots.taken():
        outcome = await while_connected(request, service.comparisons.report(key))
    headers = _attached(key, "json")
    return Response(write_json([outcome]), media_type="application/json", headers=headers)


def _groups(service: Service, key: str, wanted: GroupsQuery) -> Batches:
    return service.data.comparison.all_rows(
        key, wanted.status, order=wanted.order, where=wanted.where
    )


async def _started(batches: Batches) -> Batches:
    """The same batches; what is wrong with the question is raised here, before the answer."""
    first = await anext(batches, ())

    async def again() -> Batches:
        async with aclosing(batches):
            yield first
            async for batch in batches:
                yield batch

    return again()


async def _write(file: IO[bytes], service: Service, key: str, wanted: GroupsQuery) -> None:
    await service.comparisons.recall(key)
    async with aclosing(_groups(service, key, wanted)) as batches:
        await write_xlsx(file, service.data.comparison.remembered(key), batches)
    file.seek(0)


def _sent(file: IO[bytes]) -> Generator[bytes]:
    with file:
        while part := file.read(_CHUNK):
            yield part


def _attached(key: str, suffix: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="comparison-{key[:12]}.{suffix}"'}
