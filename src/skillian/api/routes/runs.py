"""Runs: comparisons in the background and turns, their progress and their end."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from skillian.api.routes.sessions import Offset
from skillian.api.service import TheOwner, TheService

MAX_LIMIT = 200

RunId = Annotated[str, Path(max_length=200, description="The end of the `Location` of a 202.")]

router = APIRouter(prefix="/runs", tags=["runs"])


RunState = Literal[
    "queued",
    "running",
    "waiting",
    "needs_decision",
    "completed",
    "step_limit_reached",
    "usage_limit_reached",
    "refused",
    "cut_off",
    "cancelled",
    "error",
    "lost",
    "interrupted",
]
"""`tinyagent.durable.DurableState`, which needs an extra, and `interrupted`, of a comparison."""


class RunInfo(BaseModel):
    """A comparison in the background, or a turn."""

    id: str
    kind: Literal["turn", "comparison"]
    state: RunState
    title: str
    created: datetime
    updated: datetime
    error: str | None
    progress: Annotated[str | None, Field(description="Of a running comparison.")] = None
    cache_key: Annotated[str | None, Field(description="Of a completed comparison.")] = None
    comparison: Annotated[dict[str, Any] | None, Field(description="What is compared.")] = None
    verdict: Annotated[
        Literal["equal", "findings", "failed"] | None, Field(description="Of a comparison.")
    ] = None
    saved_id: Annotated[str | None, Field(description="The saved comparison that ran.")] = None
    is_own: Annotated[
        bool, Field(description="False if another key ran a saved comparison of this one.")
    ] = True
    session_id: str | None = None
    turn: int | None = None


class RunPage(BaseModel):
    """Some of the runs, newest first."""

    runs: list[RunInfo]
    offset: int
    limit: int


@router.get("", response_model=RunPage)
async def list_runs(
    service: TheService,
    owner: TheOwner,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 50,
) -> dict[str, Any]:
    """List the comparisons and turns in progress, and those that ended and are kept.

    Comparisons are kept for RETENTION_DAYS, at most 1,000 of a key; turns for an hour.
    """
    runs = await service.runs.list(owner, offset, limit)
    return {"runs": runs, "offset": offset, "limit": limit}


@router.get("/{run_id}", response_model=RunInfo)
async def read(run_id: RunId, service: TheService, owner: TheOwner) -> dict[str, Any]:
    """Read a run; a comparison that is `completed` has a `cache_key`."""
    return await service.runs.get(owner, run_id)


@router.post("/{run_id}/cancel", status_code=204)
async def cancel(run_id: RunId, service: TheService, owner: TheOwner) -> None:
    """End a run, whichever process works on it; it stops within seconds."""
    await service.runs.cancel(owner, run_id)
