"""Uploaded files: send one, replace, list, delete it. `POST /compare` names one as `upload:ID`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel
from starlette.requests import ClientDisconnect

from skillian.api.limits import UPLOADS
from skillian.api.problems import ClientGone, ProblemError
from skillian.api.service import Service, TheOwner, TheService
from skillian.api.streams import while_connected
from skillian.uploads.folders import Upload

MEDIA_TYPE = "application/octet-stream"

_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
    }
}

_FIELDS = ("id", "name", "bytes", "created", "rows", "note", "sheets", "sheet")

UploadId = Annotated[str, Path(max_length=100, description="The `id` of a file.")]
FileName = Annotated[
    str, Query(max_length=1000, description="The name of the file.", examples=["ledger.csv"])
]
FileOptions = Annotated[
    str,
    Query(
        max_length=500,
        description="How the file is written: the options of the files of a connection.",
        examples=["decimal=,&encoding=latin-1"],
    ),
]


class _SentFile(NamedTuple):
    name: str
    options: str


def _file(name: FileName, options: FileOptions = "") -> _SentFile:
    return _SentFile(name, options)


TheFile = Annotated[_SentFile, Depends(_file)]

router = APIRouter(tags=["uploads"])


class UploadColumn(BaseModel):
    """A column of a file, and its type as it was detected."""

    name: str
    type: str


class UploadInfo(BaseModel):
    """A file that the holder of this key has uploaded."""

    id: str
    name: str
    bytes: int
    created: str
    rows: int
    columns: list[UploadColumn]
    note: str
    sheets: list[str]
    sheet: str


@router.post(UPLOADS, status_code=201, response_model=UploadInfo, openapi_extra=_BODY)
async def send(
    file: TheFile, request: Request, service: TheService, owner: TheOwner
) -> dict[str, Any]:
    """Upload a CSV, Excel, Parquet or JSON lines file; the body is its content.

    The answer comes when the file is read. A client that disconnects leaves nothing behind.
    """
    return await _received(request, service, owner, file)


@router.put(f"{UPLOADS}/{{upload_id}}", response_model=UploadInfo, openapi_extra=_BODY)
async def replace(
    upload_id: UploadId, file: TheFile, request: Request, service: TheService, owner: TheOwner
) -> dict[str, Any]:
    """Replace the content of a file; saved comparisons with it read the new content.

    Results of comparisons with the old content are deleted. If the new file cannot be read, the old
    one stays.
    """
    info = await _received(request, service, owner, file, replaces=upload_id)
    await service.comparisons.forget_results(upload_id)
    return info


async def _received(
    request: Request, service: Service, owner: str, file: _SentFile, *, replaces: str = ""
) -> dict[str, Any]:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != MEDIA_TYPE:
        detail = f"The body must be the file itself; send Content-Type: {MEDIA_TYPE}."
        raise ProblemError(415, "unsupported_media_type", detail)
    length = request.headers.get("content-length", "")
    announced = int(length) if length.isdecimal() else None
    arrived = asyncio.Event()
    async with aclosing(_chunks(request, arrived)) as chunks:
        work = service.uploads.receive(
            owner, file.name, chunks, announced, file.options, replaces=replaces
        )
        return _info(await while_connected(request, work, arrived))


@router.get(UPLOADS, response_model=list[UploadInfo])
async def list_uploads(service: TheService, owner: TheOwner) -> list[dict[str, Any]]:
    """List the files of this key, the oldest first."""
    return [_info(upload) for upload in await service.uploads.list(owner)]


@router.get(f"{UPLOADS}/{{upload_id}}", response_model=UploadInfo)
async def read(upload_id: UploadId, service: TheService, owner: TheOwner) -> dict[str, Any]:
    """Read the columns of a file, and their types."""
    return _info(await service.uploads.get(owner, upload_id))


@router.delete(f"{UPLOADS}/{{upload_id}}", status_code=204)
async def delete(upload_id: UploadId, service: TheService, owner: TheOwner) -> None:
    """Delete a file, and what comparisons found in it."""
    await service.saved.forget_upload(owner, upload_id)


async def _chunks(request: Request, arrived: asyncio.Event) -> AsyncGenerator[bytes]:
    try:
        async for chunk in request.stream():
            yield chunk
    except ClientDisconnect:
        raise ClientGone from None
    arrived.set()


def _info(upload: Upload) -> dict[str, Any]:
    columns = [{"name": name, "type": kind} for name, kind in upload.columns]
    return {**{name: getattr(upload, name) for name in _FIELDS}, "columns": columns}
