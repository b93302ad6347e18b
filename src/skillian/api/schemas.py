"""Requests and responses; the OpenAPI document is made of these."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from skillian.data.declare.definitions import Name, Thresholds

MAX_MESSAGE = 20_000

RunState = Literal[
    "queued",
    "running",
    "waiting",
    "needs_decision",
    "completed",
    "step_limit_reached",
    "usage_limit_reached",
    "cancelled",
    "error",
    "lost",
    "interrupted",
]
"""`tinyagent.durable.DurableState`, which needs an extra, and `interrupted`, of a comparison."""


class Body(BaseModel):
    """The body of a request; members that are not declared are refused."""

    model_config = ConfigDict(extra="forbid")


def _has_text(message: str) -> str:
    if not message.strip():
        raise ValueError("the message is empty")
    return message


def _is_unicode(value: dict[str, Any]) -> dict[str, Any]:
    json.dumps(value, ensure_ascii=False).encode()  # raises ValueError for half a surrogate pair
    return value


Message = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_MESSAGE,
        description="The message in words.",
        examples=["Compare amounts between fi_reporting and bpc_reporting for company 1001"],
    ),
    AfterValidator(_has_text),
]
SessionId = Annotated[str, Field(max_length=100, examples=["0f8e6c5a3b2d4f7e9a1c0b8d6e4f2a10"])]


class SessionChatRequest(Body):
    """A message to a session."""

    message: Message


class ChatRequest(SessionChatRequest):
    """A message to a session, or without `session_id` to a new session."""

    session_id: SessionId | None = None


class ToolCallInfo(BaseModel):
    """A tool call; `result` is its JSON, or its text if it is not JSON."""

    tool: str
    args: dict[str, Any]
    result: Any
    duration_ms: float


class UsageInfo(BaseModel):
    """The model calls of a turn and their tokens."""

    requests: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int


class ReferenceInfo(BaseModel):
    """A number of the answer and its place in a tool's result."""

    model_config = ConfigDict(extra="allow")


class ChatResponse(BaseModel):
    """The answer to a message.

    `finished` is false if a limit ended the turn without an answer: `response` then has the results
    so far and the reason. The numbers of `unverified` are in no tool result.
    """

    response: str
    tool_calls: list[ToolCallInfo]
    session_id: str
    finished: bool
    usage: UsageInfo
    model: str = Field(description="The model that answered; the offline planner is named as such.")
    references: list[ReferenceInfo]
    unverified: list[str]


class SessionTitle(Body):
    """A session's title."""

    title: str = Field(max_length=500, examples=["Gap of company 1001"])


class NewSession(Body):
    """A new session; without a title, its first message becomes the title."""

    title: str = Field("", max_length=500)


class SessionInfo(BaseModel):
    """A session; `updated` is when it was last used."""

    id: str
    title: str
    created: str
    updated: str


class SessionPage(BaseModel):
    """Some of the sessions, most recently used first; `total` is the number of all."""

    sessions: list[SessionInfo]
    total: int
    offset: int
    limit: int


class SessionDetail(SessionInfo):
    """A session with its messages.

    A message has a `role` (`user`, `assistant`, `tool`) and `content`; tool calls are in
    `tool_calls`, their results follow with a `tool_call_id`. `broken` marks a turn that ended
    without an answer.
    """

    messages: list[dict[str, Any]]


class SkillInfo(BaseModel):
    """A skill and its tools."""

    name: str
    description: str
    tools: list[ToolInfo]


class ToolInfo(BaseModel):
    """A tool; `input` is the JSON schema of its arguments."""

    name: str
    description: str
    input: dict[str, Any]


class SkillList(BaseModel):
    """All skills."""

    skills: list[SkillInfo]


class SourceList(BaseModel):
    """All sources: description, dimensions with values, measures, row count, freshness."""

    sources: list[dict[str, Any]]


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
    session_id: str | None = None
    turn: int | None = None


class RunPage(BaseModel):
    """Some of the runs, newest first."""

    runs: list[RunInfo]
    offset: int
    limit: int


class CompareRequest(Body):
    """What to compare; defaults are those of the configuration."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "source_a": "fi_reporting",
                    "source_b": "bpc_reporting",
                    "measures": ["amount"],
                    "align_on": ["company", "period"],
                    "filters": {"company": "1001"},
                }
            ]
        },
    )

    source_a: Name
    source_b: Name
    measures: Annotated[list[Name], Field(min_length=1, max_length=10)]
    align_on: Annotated[list[Name], Field(min_length=1, max_length=20)] | None = None
    filters: Annotated[
        dict[Name, Any],
        Field(
            default_factory=dict,
            max_length=20,
            description=(
                "Dimension to a value, a list of values, null, or one of"
                ' {"ne": v}, {"gte": v}, {"gt": v}, {"lte": v}, {"lt": v}, {"between": [a, b]}.'
            ),
        ),
        AfterValidator(_is_unicode),
    ]
    thresholds: Thresholds = Thresholds()


class Comparison(BaseModel):
    """A comparison; amounts are strings with all of their digits."""

    source_a: str
    source_b: str
    summary: dict[str, Any]
    top_differences: list[dict[str, Any]]
    interpretation: list[str]
    cache_key: str
    proof: dict[str, Any]


class ComparisonPage(BaseModel):
    """A page of a comparison's groups."""

    model_config = ConfigDict(extra="allow")


class ApprovalRequest(Body):
    """Whether a waiting call may be made; the model reads the reason of a refusal."""

    approved: bool
    reason: str = Field("", max_length=1000)


class SearchRequest(Body):
    """A search in the skills' knowledge."""

    query: str = Field(min_length=1, max_length=1000, examples=["why is a load doubled"])
    limit: int = Field(5, ge=1, le=20)


class Passage(BaseModel):
    """A passage and its place."""

    skill: str
    file: str
    heading: str
    text: str


class Passages(BaseModel):
    """Passages, the best first."""

    passages: list[Passage]


class Health(BaseModel):
    """The state of the process."""

    status: str = "ok"


class Readiness(BaseModel):
    """The state of the server's parts: each is `ok` or `failed`."""

    status: str
    model: str
    checks: dict[str, str]
