"""What there is, and whether it works."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from fastapi import APIRouter, Request, Response

from skillian.api.problems import ProblemError
from skillian.api.schemas import (
    Health,
    Passages,
    Readiness,
    SearchRequest,
    SkillList,
    SourceList,
)
from skillian.api.service import TheService
from skillian.api.stream import while_connected
from skillian.errors import SkillianError

READY_SECONDS = 10.0
MAX_NAME = 200

logger = logging.getLogger("skillian")
router = APIRouter(tags=["about"])


@router.get("/health", response_model=Health)
async def health() -> dict[str, str]:
    """Whether the process answers. Needs no key."""
    return {"status": "ok"}


@router.get(
    "/ready", response_model=Readiness, responses={503: {"model": Readiness, "description": ""}}
)
async def ready(service: TheService, response: Response) -> dict[str, Any]:
    """Whether the session store and the sources answer. Needs no key."""
    checks = {
        "store": await _checked("store", service.store.ping()),
        "sources": await _checked("sources", service.data.catalogue.sources()),
    }
    works = set(checks.values()) == {"ok"}
    response.status_code = 200 if works else 503
    status = "ok" if works else "failed"
    return {"status": status, "model": service.agent.model_name, "checks": checks}


@router.get("/skills", response_model=SkillList)
async def skills(service: TheService) -> dict[str, Any]:
    """The skills and their tools."""
    return {
        "skills": [
            {
                "name": skill.name,
                "description": skill.description,
                "tools": [
                    {
                        "name": tool.name,
                        "description": tool.description,
                        "input": tool.input_model.model_json_schema(),
                    }
                    for tool in skill.tools
                ],
            }
            for skill in service.skills.get_all_skills()
        ]
    }


@router.get("/sources", response_model=SourceList)
async def sources(request: Request, service: TheService) -> dict[str, Any]:
    """The sources with their dimensions, measures, row count and freshness."""
    found = await while_connected(request, service.data.catalogue.sources())
    return {"sources": [source.to_dict() for source in found]}


@router.post("/knowledge/search", response_model=Passages)
async def search(asked: SearchRequest, service: TheService) -> dict[str, Any]:
    """Passages of the skills' knowledge, those that fit best first."""
    return {"passages": service.skills.search_knowledge(asked.query, asked.limit)}


@router.get(
    "/artifacts/{name}",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
async def artifact(name: str, service: TheService) -> Response:
    """A file that a tool's result named, such as a plot, while it is kept."""
    found = service.skills.find_artifact(name[:MAX_NAME])
    if found is None:
        raise ProblemError(404, "artifact_not_found", "There is no such file (any more).")
    # What code has made is not to be shown as a page of this server's.
    headers = {"Content-Disposition": "attachment", "Content-Security-Policy": "sandbox"}
    return Response(found.data, media_type="application/octet-stream", headers=headers)


async def _checked(part: str, work: Coroutine[Any, Any, object]) -> str:
    try:
        async with asyncio.timeout(READY_SECONDS):
            await work
    except (SkillianError, TimeoutError) as error:
        logger.warning("not ready: %s: %s", part, error)
        return "failed"
    return "ok"
