"""Comparisons without a model: make one, read it, page through its groups, see its report."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, Json
from starlette.responses import JSONResponse

from skillian.api.routes_sessions import MAX_OFFSET
from skillian.api.schemas import CompareRequest, Comparison, ComparisonPage, Run
from skillian.api.service import TheOwner, TheService
from skillian.api.stream import while_connected
from skillian.data.comparison.page import ColumnFilter, Order
from skillian.data.comparison.results import Status
from skillian.data.declare.saved import SavedComparison
from skillian.reports.as_html import write_html

MAX_ROWS = 1000
MAX_FILTERS = 50
MAX_STATUSES = 20
# The page holds its script by its digest; here it cannot reach anything of this server's either.
_PAGE_POLICY = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"

_RESPOND_ASYNC = re.compile(r"(?:^|,)\s*respond-async\s*(?:[,;]|$)", re.IGNORECASE)
_LATER: dict[int | str, dict[str, Any]] = {
    202: {"model": Run, "description": "It is compared without waiting for it"}
}

Key = Annotated[str, Path(max_length=100, description="The `cache_key` of a comparison.")]


class GroupsQuery(BaseModel):
    """Which groups are wanted, and in which order; without a status those that differ.

    `order` is `{column, of, descending}`, `where` a list of `{column, of, filter}`, both in JSON:
    `column` is `key` of a dimension; `a`, `b`, `gap` or `size` (its absolute amount) of a measure;
    `rows_a`, `rows_b`; to order by also `status`. A filter is as those of a comparison, of a key
    also `{"contains": text}`.
    """

    model_config = ConfigDict(extra="forbid")

    status: Annotated[list[Status], Field(max_length=MAX_STATUSES)] | None = None
    order: Json[Order] | None = None
    where: Annotated[Json[list[ColumnFilter]], Field(max_length=MAX_FILTERS)] = Field(
        default_factory=list[ColumnFilter]
    )


class RowsQuery(GroupsQuery):
    """A page of them."""

    offset: int = Field(0, ge=0, le=MAX_OFFSET)
    limit: int = Field(100, ge=1, le=MAX_ROWS)


router = APIRouter(tags=["comparisons"])


@router.post("/compare", response_model=Comparison, responses=_LATER)
async def compare(
    asked: CompareRequest,
    request: Request,
    service: TheService,
    owner: TheOwner,
    prefer: Annotated[str, Header(max_length=1000)] = "",
) -> Response | dict[str, Any]:
    """Compare two sources exactly; the statements stop when the client goes.

    With `Prefer: respond-async` (RFC 7240), at a server with durable runs, the answer is 202 at
    once and `Location` is where to look for the comparison, which goes on without its client.
    """
    saved = SavedComparison(
        name="comparison",
        a=asked.source_a,
        b=asked.source_b,
        measures=tuple(asked.measures),
        align_on=None if asked.align_on is None else tuple(asked.align_on),
        filters=asked.filters,
        thresholds=asked.thresholds,
    )
    if service.durable is not None and _RESPOND_ASYNC.search(prefer):
        with service.slots.taken():
            run = await while_connected(request, service.durable.compare(owner, saved))
        headers = {"Location": f"/runs/{run['id']}", "Preference-Applied": "respond-async"}
        return JSONResponse(run, 202, headers)
    with service.slots.taken():
        return await while_connected(request, service.comparisons.compare(saved))


@router.get("/comparisons/{key}", response_model=Comparison)
async def read(key: Key, service: TheService) -> dict[str, Any]:
    """Read a comparison that was made before, by whomever."""
    return await service.comparisons.find(key)


@router.get("/comparisons/{key}/rows", response_model=ComparisonPage)
async def rows(
    key: Key,
    request: Request,
    service: TheService,
    wanted: Annotated[RowsQuery, Query()],
) -> dict[str, Any]:
    """A page of its groups, if no other order is wanted the largest difference first."""

    async def work() -> dict[str, Any]:
        await service.comparisons.recall(key)
        found = await service.data.comparison.rows(
            key,
            wanted.status,
            wanted.offset,
            wanted.limit,
            order=wanted.order,
            where=wanted.where,
        )
        return found.to_dict()

    with service.slots.taken():
        return await while_connected(request, work())


@router.get(
    "/comparisons/{key}/report.html",
    response_class=Response,
    responses={200: {"content": {"text/html": {}}}},
)
async def report(key: Key, request: Request, service: TheService) -> Response:
    """The comparison as one page that needs nothing but itself."""
    with service.slots.taken():
        outcome = await while_connected(request, service.comparisons.report(key))
    headers = {"Content-Security-Policy": _PAGE_POLICY}
    return Response(write_html([outcome]), media_type="text/html", headers=headers)
