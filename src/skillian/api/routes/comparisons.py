"""Comparisons without a model: make one, read it, page through its groups, download it."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Collection, Generator
from typing import IO, Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Json

from skillian.api.routes.runs import RunInfo
from skillian.api.routes.sessions import MAX_OFFSET
from skillian.api.service import TheOwner, TheService
from skillian.api.streams import while_connected
from skillian.data.comparison.page import ColumnFilter, Order, Page
from skillian.data.declare.forms import QuestionForm
from skillian.data.declare.saved import SavedComparison
from skillian.data.subjects import RowClass, Status
from skillian.reports.as_html import write_html
from skillian.reports.as_json import write_json
from skillian.reports.every_row import write_all
from skillian.reports.outcome import Format
from skillian.reports.spreadsheets import summary_of

MAX_ROWS = 1000
MAX_COLUMNS = 1000
MAX_FILTERS = 50
MAX_STATUSES = 20
MAX_SEARCHED = 10
RowsForm = Literal["csv", "xlsx", "parquet", "jsonl"]
MEDIA_TYPES: dict[RowsForm, str] = {
    "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
    "jsonl": "application/jsonl",
}
_CHUNK = 65_536
# The report admits its script by digest; this keeps the script away from this server as well.
_PAGE_POLICY = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"

_CONTROL = re.compile(r"[\x00-\x1f]")
_RESPOND_ASYNC = re.compile(r"(?:^|,)\s*respond-async\s*(?:[,;]|$)", re.IGNORECASE)
_LATER: dict[int | str, dict[str, Any]] = {
    202: {"model": RunInfo, "description": "The comparison runs in the background"}
}

Key = Annotated[str, Path(max_length=100, description="The `cache_key` of a comparison.")]
RowStatus = Literal[Status, RowClass]
SearchedText = Annotated[str, Field(max_length=1000)]


class GroupsQuery(BaseModel):
    """Which groups or rows, and in which order; without a status, those that differ.

    `order` is `{column, of, descending}`, `where` a list of `{column, of, filter}`, both in JSON:
    `column` is `key` of a dimension or key column; `a`, `b`, `gap` or `size` (its absolute amount)
    of a measure or column; `rows_a`, `rows_b`; for `order` also `status`. A filter is one of a
    comparison; for a key and a text also `{"contains": text}`. `search` is a text that the key or
    any value contains; of several, they contain one.
    """

    model_config = ConfigDict(extra="forbid")

    status: Annotated[list[RowStatus], Field(max_length=MAX_STATUSES)] = Field(
        default_factory=list[RowStatus]
    )
    order: Json[Order] | None = None
    where: Annotated[Json[list[ColumnFilter]], Field(max_length=MAX_FILTERS)] = Field(
        default_factory=list[ColumnFilter]
    )
    search: Annotated[list[SearchedText], Field(max_length=MAX_SEARCHED)] = Field(
        default_factory=list[str]
    )

    def page(self, offset: int = 0, limit: int | None = None) -> Page:
        """The page that is asked for."""
        search = tuple(filter(None, self.search))
        return Page(tuple(self.status), offset, limit, self.order, tuple(self.where), search)


class RowsQuery(GroupsQuery):
    """A page of groups or rows."""

    offset: int = Field(0, ge=0, le=MAX_OFFSET)
    limit: int = Field(100, ge=1, le=MAX_ROWS)


SelectedGroups = Annotated[GroupsQuery, Query()]

router = APIRouter(tags=["comparisons"])


def _is_unicode(value: dict[str, Any]) -> dict[str, Any]:
    json.dumps(value, ensure_ascii=False).encode()  # raises ValueError for half a surrogate pair
    return value


def _is_printable(names: Collection[str]) -> Collection[str]:
    others: Any = getattr(names, "values", tuple)()  # those in b, of a map
    if _CONTROL.search("".join((*names, *others))):
        raise ValueError("names of columns have no control characters here")
    return names


def _columns(most: int) -> tuple[Any, Any]:
    return Field(min_length=1, max_length=most), AfterValidator(_is_printable)


_FORM = QuestionForm(
    "CompareRequest",
    """What to compare; defaults are those of the configuration.

    With `measures`, their totals for each combination of `align_on`; without, whole rows: `key` has
    the columns that identify one, and is proposed if it is left out.
    """,
    {
        "a": (None,),
        "b": (None,),
        "measures": (None, Field(min_length=1, max_length=10)),
        "align_on": (None, Field(min_length=1, max_length=20)),
        "filters": (
            (
                "Dimension to a value, a list of values, null, or one of"
                ' {"ne": v}, {"gte": v}, {"gt": v}, {"lte": v}, {"lt": v}, {"between": [a, b]}.'
                " Of whole rows: column to the same."
            ),
            Field(max_length=20),
            AfterValidator(_is_unicode),
        ),
        "thresholds": (None,),
        "key": (None, *_columns(20)),
        **dict.fromkeys(("columns", "map", "ignore", "accept"), (None, *_columns(MAX_COLUMNS))),
        "rules": (None,),
        "multiset": (None,),
    },
    {
        "examples": [
            {
                "source_a": "fi_reporting",
                "source_b": "bpc_reporting",
                "measures": ["amount"],
                "align_on": ["company", "period"],
                "filters": {"company": "1001"},
            },
            {
                "source_a": "customers",
                "source_b": "customers_copy",
                "key": ["id"],
                "ignore": ["updated_at"],
                "rules": {"all": {"trim": True}, "columns": {"price": {"absolute": "0.01"}}},
            },
        ]
    },
)
AskedComparison = Annotated[SavedComparison, _FORM]
"""A question in the body of a request."""


class MeasureComparison(BaseModel):
    """A comparison of measures; amounts are strings with all of their digits."""

    kind: Literal["measures"]
    source_a: str
    source_b: str
    summary: dict[str, Any]
    top_differences: list[dict[str, Any]]
    interpretation: list[str]
    schema_: Annotated[dict[str, Any] | None, Field(alias="schema")] = None
    cache_key: str
    proof: dict[str, Any]


class RowComparisonBody(BaseModel):
    """A comparison of whole rows; numbers with a fraction are strings."""

    kind: Literal["rows"]
    source_a: str
    source_b: str
    equal: bool
    key: dict[str, Any]
    rows: dict[str, int]
    columns: list[dict[str, Any]]
    coverage: dict[str, Any]
    not_compared: list[dict[str, Any]]
    schema_: Annotated[dict[str, Any], Field(alias="schema")]
    samples: dict[str, Any]
    proposals: list[dict[str, Any]]
    sentences: list[str]
    proof: dict[str, Any]
    cache_key: str


class ComparisonPage(BaseModel):
    """A page of a comparison's groups or rows."""

    model_config = ConfigDict(extra="allow")


@router.post("/compare", response_model=RowComparisonBody | MeasureComparison, responses=_LATER)
async def compare(
    body: AskedComparison,
    request: Request,
    service: TheService,
    owner: TheOwner,
    prefer: Annotated[str, Header(max_length=1000)] = "",
) -> Response | dict[str, Any]:
    """Compare two sources exactly: measures or whole rows; the statements stop when you disconnect.

    With `Prefer: respond-async` (RFC 7240) the answer is 202 at once. The comparison runs in the
    background, without its client; `Location` is where its state is.
    """
    if _RESPOND_ASYNC.search(prefer):
        with service.slots.taken():
            run = await while_connected(request, service.runs.compare(owner, body))
        headers = {"Location": f"/runs/{run['id']}", "Preference-Applied": "respond-async"}
        return JSONResponse(run, 202, headers)
    with service.slots.taken():
        return await while_connected(request, service.comparisons.compare(body, owner))


@router.get("/comparisons/{key}", response_model=RowComparisonBody | MeasureComparison)
async def read(key: Key, service: TheService, owner: TheOwner) -> dict[str, Any]:
    """Read a comparison that anybody made before."""
    return await service.comparisons.find(key, owner)


@router.get("/comparisons/{key}/rows", response_model=ComparisonPage)
async def rows(
    key: Key,
    request: Request,
    service: TheService,
    owner: TheOwner,
    query: Annotated[RowsQuery, Query()],
) -> dict[str, Any]:
    """Read a page of its groups or rows.

    Without `order`, the largest difference is first; rows come in the order of class and key.
    """

    async def work() -> dict[str, Any]:
        await service.comparisons.recall(key, owner)
        page = query.page(query.offset, query.limit)
        return (await service.data.engine.rows(key, page)).to_dict()

    with service.slots.taken():
        return await while_connected(request, work())


@router.get(
    "/comparisons/{key}/report.html",
    response_class=Response,
    responses={200: {"content": {"text/html": {}}}},
)
async def report_html(key: Key, request: Request, service: TheService, owner: TheOwner) -> Response:
    """Read the comparison as one self-contained page."""
    with service.slots.taken():
        outcome = await while_connected(request, service.comparisons.report(key, owner))
    headers = {"Content-Security-Policy": _PAGE_POLICY}
    return Response(write_html([outcome]), media_type="text/html", headers=headers)


@router.get(
    "/comparisons/{key}/rows.{form}",
    response_class=Response,
    responses={200: {"content": {media_type: {} for media_type in MEDIA_TYPES.values()}}},
)
async def rows_file(
    key: Key,
    form: RowsForm,
    request: Request,
    service: TheService,
    *,
    owner: TheOwner,
    query: SelectedGroups,
) -> Response:
    """Download the groups or rows: CSV, an Excel workbook with a summary, Parquet, JSON lines.

    In CSV, a text that looks like a formula starts with a `'`.
    """
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed once it is sent
    try:
        with service.slots.taken():
            result = await while_connected(request, service.comparisons.recall(key, owner))
            batches = service.data.engine.batches(key, query.page())
            work = write_all(file, Format(form), batches, [*summary_of(result)])
            await while_connected(request, work)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    media_type = MEDIA_TYPES[form]
    return StreamingResponse(_sent(file), media_type=media_type, headers=_attached(key, form))


@router.get(
    "/comparisons/{key}/report.json",
    response_class=Response,
    responses={200: {"content": {"application/json": {}}}},
)
async def report_json(key: Key, request: Request, service: TheService, owner: TheOwner) -> Response:
    """Download the comparison as a report for programs."""
    with service.slots.taken():
        outcome = await while_connected(request, service.comparisons.report(key, owner))
    headers = _attached(key, "json")
    return Response(write_json([outcome]), media_type="application/json", headers=headers)


def _sent(file: IO[bytes]) -> Generator[bytes]:
    with file:
        while part := file.read(_CHUNK):
            yield part


def _attached(key: str, suffix: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="comparison-{key[:12]}.{suffix}"'}
