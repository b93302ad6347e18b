"""Saved comparisons: name one, share it, run it again, follow its findings."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from skillian.api.routes.comparisons import AskedComparison
from skillian.api.routes.runs import RunInfo
from skillian.api.saved import saved_json
from skillian.api.service import Body, TheOwner, TheService

SavedId = Annotated[str, Path(max_length=100, description="The `id` of a saved comparison.")]
FindingId = Annotated[str, Path(max_length=100, min_length=1, description="The `id` of a finding.")]
SavedName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]

router = APIRouter(prefix="/saved", tags=["saved comparisons"])


class SaveRequest(Body):
    """A comparison and the name to save it under."""

    name: SavedName
    comparison: AskedComparison


class ShareRequest(Body):
    """Whether every key of this server may open it."""

    shared: bool


class NoteRequest(Body):
    """What is known about a finding; without a note it is open, or new."""

    note: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    due: date | None = None


class AcceptRequest(Body):
    """What is known about all findings, until a day."""

    note: Annotated[str, Field(min_length=1, max_length=2000)]
    due: date | None = None


class Accepted(BaseModel):
    """How many findings are known from now on; the others are not tracked one by one."""

    accepted: int
    untracked: int


class SavedInfo(BaseModel):
    """A saved comparison; `cache_key` is that of its last result."""

    id: str
    name: str
    comparison: dict[str, Any]
    shared: bool
    is_own: bool
    cache_key: str | None
    created: datetime


class SavedReport(SavedInfo):
    """A saved comparison with its runs, newest first, and its findings."""

    runs: list[dict[str, Any]]
    findings: list[dict[str, Any]]


@router.post("", status_code=201, response_model=SavedInfo)
async def save(body: SaveRequest, service: TheService, owner: TheOwner) -> dict[str, Any]:
    """Save a comparison under a name."""
    record = await service.saved.save(owner, body.name, body.comparison)
    return saved_json(record, owner)


@router.get("", response_model=list[SavedInfo])
async def list_saved(service: TheService, owner: TheOwner) -> list[dict[str, Any]]:
    """List the saved comparisons of this key, newest first."""
    return [saved_json(record, owner) for record in await service.saved.list(owner)]


@router.get("/{saved_id}", response_model=SavedReport)
async def read(saved_id: SavedId, service: TheService, owner: TheOwner) -> dict[str, Any]:
    """Read a saved comparison of this key, or a shared one, with its runs and findings."""
    return await service.saved.report(owner, saved_id)


@router.post("/{saved_id}/runs", status_code=202, response_model=RunInfo)
async def run(saved_id: SavedId, service: TheService, owner: TheOwner) -> JSONResponse:
    """Compare again in the background; `Location` is where the state of the run is."""
    with service.slots.taken():
        started = await service.saved.start(owner, saved_id)
    return JSONResponse(started, 202, {"Location": f"/runs/{started['id']}"})


@router.put("/{saved_id}/shared", status_code=204)
async def share(
    saved_id: SavedId, body: ShareRequest, service: TheService, owner: TheOwner
) -> None:
    """Let every key of this server open it by its id, or only its owner."""
    await service.saved.share(owner, saved_id, is_shared=body.shared)


@router.put("/{saved_id}/findings", response_model=Accepted)
async def accept(
    saved_id: SavedId, body: AcceptRequest, service: TheService, owner: TheOwner
) -> dict[str, int]:
    """Mark all findings of the last run as known until a day."""
    accepted, untracked = await service.saved.accept(owner, saved_id, body.note, body.due)
    return {"accepted": accepted, "untracked": untracked}


@router.put("/{saved_id}/findings/{finding_id}")
async def note(
    saved_id: SavedId,
    finding_id: FindingId,
    body: NoteRequest,
    service: TheService,
    owner: TheOwner,
) -> dict[str, Any]:
    """Mark a finding as known until a day, or remove its note."""
    return await service.saved.note(owner, saved_id, finding_id, body.note, body.due)


@router.delete("/{saved_id}", status_code=204)
async def delete(saved_id: SavedId, service: TheService, owner: TheOwner) -> None:
    """Delete a saved comparison of this key, and its history."""
    await service.saved.delete(owner, saved_id)
