"""Why two sources differ: proved rules for whole rows, the members that carry a gap of measures."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict

from skillian.api.routes.comparisons import Key
from skillian.api.service import TheOwner, TheService
from skillian.api.streams import while_connected
from skillian.data.declare.rules import Rules

router = APIRouter(tags=["comparisons"])


class RuleChanges(BaseModel):
    """The fields of `POST /compare` that apply a rule and those before it; the others stay."""

    key: list[str] | None = None
    map: dict[str, str] | None = None
    filters: dict[str, Any] | None = None
    rules: Rules | None = None


class ProvedRuleBody(BaseModel):
    """A rule with which fewer rows differ, as a comparison with it has shown.

    `explained` of `differences` are gone with it; with this rule and those before, `matched` of
    the `total` rows of a match. For the command line, `option` is this rule, and `options` also
    has those before.
    """

    sentence: str
    option: str
    options: str
    explained: int
    differences: int
    matched: int
    total: int
    changes: RuleChanges


class FactBody(BaseModel):
    """A value that `count` of the `total` rows of a difference have in common."""

    subject: str
    column: str
    value: str
    count: int
    total: int


class RowsWhyBody(BaseModel):
    """What explains the rows that differ; without a cause there is no rule."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "kind": "rows",
                    "cache_key": "0f8e6c5a3b2d4f7e9a1c0b8d6e4f2a10",
                    "rules": [
                        {
                            "sentence": "name (trimmed) explains 9 of 9 differences; with"
                            " `--rule name:trim`, 20 of 20 rows match.",
                            "option": "--rule name:trim",
                            "options": "--rule name:trim",
                            "explained": 9,
                            "differences": 9,
                            "matched": 20,
                            "total": 20,
                            "changes": {"rules": {"columns": {"name": {"trim": True}}}},
                        }
                    ],
                    "facts": [],
                    "sentences": ["name (trimmed) explains 9 of 9 differences; …"],
                }
            ]
        }
    )

    kind: Literal["rows"]
    cache_key: str
    rules: list[ProvedRuleBody]
    facts: list[FactBody]
    sentences: list[str]


class MeasuresWhyBody(BaseModel):
    """Which members carry the gap of each measure, the smallest explanation first."""

    kind: Literal["measures"]
    cache_key: str
    grain: list[str]
    unused_dimensions: list[str]
    interpretation: list[str]
    measures: dict[str, Any]


@router.get(
    "/comparisons/{key}/why",
    response_model=RowsWhyBody | MeasuresWhyBody,
    response_model_exclude_unset=True,
)
async def why(key: Key, request: Request, service: TheService, owner: TheOwner) -> dict[str, Any]:
    """Explain what differs; of whole rows, each rule is proved by another comparison.

    `POST /compare` with the fields of the comparison and the `changes` of a rule applies it. The
    first request compares up to eight times; the statements stop when you disconnect.
    """

    async def work() -> dict[str, Any]:
        found = await service.comparisons.why(key, owner)
        return {"kind": found.kind, **found.answer()}

    with service.slots.taken():
        return await while_connected(request, work())
