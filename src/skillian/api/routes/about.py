"""Skills, sources, knowledge and artifacts, and whether the service works."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field

from skillian.api.problems import ProblemError
from skillian.api.service import Body, TheService
from skillian.api.streams import while_connected
from skillian.errors import SkillianError
from skillian.skills.knowledge import Passage
from tinyagent.core import how_to_install

READY_SECONDS = 10.0
MAX_NAME = 200

logger = logging.getLogger("skillian")
router = APIRouter(tags=["about"])


class Health(BaseModel):
    """The state of the process."""

    status: str = "ok"


class Readiness(BaseModel):
    """The state of the server's parts: each is `ok` or `failed`."""

    status: str
    model: str
    checks: dict[str, str]


class ToolInfo(BaseModel):
    """A tool; `input` is the JSON schema of its arguments."""

    name: str
    description: str
    input: dict[str, Any]


class SkillInfo(BaseModel):
    """A skill and its tools."""

    name: str
    description: str
    tools: list[ToolInfo]


class SkillList(BaseModel):
    """All skills."""

    skills: list[SkillInfo]


class SourceList(BaseModel):
    """All sources: description, dimensions with values, measures, row count, freshness."""

    sources: list[dict[str, Any]]


class SearchRequest(Body):
    """A search in the skills' knowledge."""

    query: str = Field(min_length=1, max_length=1000, examples=["why is a load doubled"])
    limit: int = Field(5, ge=1, le=20)


class Passages(BaseModel):
    """Passages, the best first."""

    passages: list[Passage]


@router.get("/health", response_model=Health)
async def health() -> dict[str, str]:
    """Report that the process answers. Needs no key."""
    return {"status": "ok"}


@router.get(
    "/ready", response_model=Readiness, responses={503: {"model": Readiness, "description": ""}}
)
async def ready(service: TheService, response: Response) -> dict[str, Any]:
    """Report whether the session store and the sources answer. Needs no key."""
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
    """List the skills and their tools."""
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
    """List the sources with their dimensions, measures, row count and freshness."""
    infos = await while_connected(request, service.data.catalogue.sources())
    return {"sources": [source.to_dict() for source in infos]}


@router.post("/knowledge/search", response_model=Passages)
async def search(body: SearchRequest, service: TheService) -> dict[str, Any]:
    """Search the skills' knowledge; the best passages come first."""
    return {"passages": service.skills.search_knowledge(body.query, body.limit)}


@router.get(
    "/artifacts/{name}",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
async def artifact(name: str, service: TheService) -> Response:
    """Download a file that a tool's result names, such as a plot, while it is kept."""
    file = service.skills.find_artifact(name[:MAX_NAME])
    if file is None:
        raise ProblemError(
            404, "artifact_not_found", "There is no such file, or it is no longer kept."
        )
    # A file that code has made must not be shown as a page of this server.
    headers = {"Content-Disposition": "attachment", "Content-Security-Policy": "sandbox"}
    return Response(file.data, media_type="application/octet-stream", headers=headers)


async def without_page() -> PlainTextResponse:
    """Say how to get the page, in its place."""
    return PlainTextResponse(
        "skillian answers here, without its page. The page needs the extra `web`;"
        f" {how_to_install('web')}, then start skillian again.\n"
        "For programs: /openapi.json describes all requests.\n"
    )


async def _checked(part: str, work: Coroutine[Any, Any, object]) -> str:
    try:
        async with asyncio.timeout(READY_SECONDS):
            await work
    except (SkillianError, TimeoutError) as error:
        logger.warning("not ready: %s: %s", part, error)
        return "failed"
    return "ok"
