"""Durable runs: what is under way, how far it is, and its end."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query

from skillian.api.durable_runs import Durable
from skillian.api.problems import ProblemError
from skillian.api.routes_sessions import Offset
from skillian.api.schemas import Run, RunPage
from skillian.api.service import TheOwner, TheService

MAX_LIMIT = 200

RunId = Annotated[str, Path(max_length=200, description="As `Location` of a 202 ends.")]


async def the_durable(service: TheService) -> Durable:
    """The service's durable runs.

    Raises:
        ProblemError: it has none (404).
    """
    if service.durable is None:
        detail = "This server keeps no runs; it does with SKILLIAN_DURABLE=true."
        raise ProblemError(404, "no_durable_runs", detail)
    return service.durable


TheDurable = Annotated[Durable, Depends(the_durable)]

router = APIRouter(prefix="/runs", tags=["runs"])


@router.get("", response_model=RunPage)
async def list_runs(
    durable: TheDurable,
    owner: TheOwner,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 50,
) -> dict[str, Any]:
    """List the turns and comparisons that are not over, or ended within the last hour."""
    found = await durable.list(owner, offset, limit)
    return {"runs": found, "offset": offset, "limit": limit}


@router.get("/{run_id}", response_model=Run)
async def read(run_id: RunId, durable: TheDurable, owner: TheOwner) -> dict[str, Any]:
    """Read a run; a comparison that is `completed` has its `cache_key`."""
    return await durable.get(owner, run_id)


@router.post("/{run_id}/cancel", status_code=204)
async def cancel(run_id: RunId, durable: TheDurable, owner: TheOwner) -> None:
    """End a run, wherever it is worked on; within seconds."""
    await durable.cancel(owner, run_id)
