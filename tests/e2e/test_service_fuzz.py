"""Bodies that are nearly right, at every door that takes JSON: no failure, no broken answer.

Set SKILLIAN_FUZZ_REQUESTS for more of them, and the test's --timeout with it.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
import requests
from tests.support.serving import UNCOUNTED, serving

from skillian.demo.ledger import write_demo

REQUESTS = int(os.environ.get("SKILLIAN_FUZZ_REQUESTS", "400"))
SECONDS = 60
# Nothing that was sent here takes as long on any machine.
SLOW_SECONDS = 20

PAIR = {"source_a": "fi_reporting", "source_b": "bpc_reporting", "measures": ["amount"]}
USER = {"id": "1", "role": "user", "content": "Which sources are there?"}
DOORS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/compare", {**PAIR, "filters": {"company": ["1001", None]}, "align_on": ["company"]}),
    ("/chat", {"message": "Compare amounts between fi_reporting and bpc_reporting"}),
    ("/sessions", {"title": "one"}),
    ("/sessions/x/chat", {"message": "why"}),
    ("/sessions/x/approvals/y", {"approved": True, "reason": "so"}),
    ("/knowledge/search", {"query": "why", "limit": 2}),
    ("/v1/chat/completions", {"model": "skillian", "messages": [USER], "stream": True}),
    (
        "/ag-ui",
        {
            "threadId": "t",
            "runId": "r",
            "state": {},
            "tools": [],
            "context": [],
            "forwardedProps": {},
            "messages": [USER],
        },
    ),
    (
        "/mcp",
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "compare_sources", "arguments": PAIR},
        },
    ),
    ("/ui/login", {"key": "x"}),
)
ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 10**30, 1e308, "", "a", "\u202e", "\ud800", "\x00", "a " * 3000),
    *([], {}, [[]], {"ne": None}, {"between": ["1", "2"]}, {"gte": []}, ["1001", None]),
    *("' OR 1=1", "../../etc/passwd", "9" * 500, "fi_reporting", "company", "user", "tool"),
)


def changed(value: Any, chance: random.Random) -> Any:
    """The value with something in it replaced."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        name = chance.choice(list(value))
        return {**value, name: changed(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        return [changed(each, chance) for each in value]
    return chance.choice(ODD)


@pytest.mark.timeout(300)
def test_malformed_requests_break_nothing(tmp_path: Path) -> None:
    chance = random.Random(20_261_122)  # noqa: S311 - the same each time
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    with serving(write_demo(tmp_path), **UNCOUNTED) as server, requests.Session() as http:
        for _ in range(REQUESTS):
            path, whole = chance.choice(DOORS)
            body = json.dumps(changed(whole, chance)).encode()
            if chance.random() < 0.05:
                body = body[: chance.randrange(len(body))]
            # Raises where an answer ends in its middle.
            answer = http.post(f"{server.url}{path}", data=body, headers=headers, timeout=SECONDS)
            assert answer.status_code < 500, (path, body, answer.text)
            assert answer.elapsed.total_seconds() < SLOW_SECONDS, (path, body)
        assert "Traceback" not in server.log
        assert '"exception"' not in server.log
