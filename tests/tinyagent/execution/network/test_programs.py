"""Ordinary programs reach what is listed, with the usual clients."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.tinyagent.execution.network.cases import Outcome, outcomes, selected
from tests.tinyagent.execution.network.programs import NETWORK, PROGRAMS, STEPS

LISTED = "api.example.com, GET https://other.example.com/open/*"
HOW: dict[str, dict[str, Any]] = {
    "isolated": {"level": "isolated"},
    "sandboxed": {"level": "sandboxed"},
    "without checkpoints": {"level": "isolated", "checkpoints": 0},
    "as an ordinary user": {"level": "isolated"},
}


@pytest.fixture(scope="module")
def ran(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], dict[str, Outcome]]:
    """The outcomes of all programs that run in one way, which are run together."""

    @cache
    def done(how: str) -> dict[str, Outcome]:
        names = selected(request, "name", how)
        cases: list[dict[str, Any]] = [
            {**HOW[how], "network": NETWORK, "steps": [PROGRAMS[name]]} for name in names
        ]
        folder = tmp_path_factory.mktemp("world")
        return dict(zip(names, outcomes(cases, folder, as_user="user" in how), strict=True))

    return done


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_works(name: str, how: str, ran: Callable[[str], dict[str, Outcome]]) -> None:
    [step] = ran(how)[name]["steps"]
    assert (step["error"], step["output"]) == (None, "fine\n")


def test_a_session_of_a_client_lives_on_over_steps(tmp_path: Path) -> None:
    case = {"level": "isolated", "network": NETWORK, "steps": STEPS}
    [outcome] = outcomes([case], tmp_path)
    assert [step["output"] for step in outcome["steps"]] == ["/1\n", "/2\n", "/3\n"]


def test_each_request_is_noted_without_its_query_and_content(tmp_path: Path) -> None:
    code = """
import requests
requests.post("https://api.example.com/items?token=hidden", data="hidden", headers={"X": "hidden"})
requests.get("http://api.example.com/status?code=404")
try:
    requests.get("https://evil.com/hidden")
except requests.ConnectionError:
    pass
answer = requests.delete("https://other.example.com/open/x")
print(answer.status_code, answer.text)
"""
    network = ["api.example.com", ["GET", "https://other.example.com/open/*"]]
    [outcome] = outcomes([{"level": "isolated", "network": network, "steps": [code]}], tmp_path)
    [step] = outcome["steps"]
    reason = (
        "the method DELETE is not allowed for https://other.example.com."
        " Allowed: GET https://other.example.com/open/*"
    )
    assert step["output"] == f"403 {reason}\n\n"
    assert "hidden" not in str(step["requests"])
    noted = [
        (note["method"], note["target"], note["path"], note["status"], note["sent"], note["reason"])
        for note in step["requests"]
    ]
    assert noted == [
        ("POST", "https://api.example.com", "/items", 200, 6, ""),
        ("GET", "http://api.example.com", "/status", 404, 0, ""),
        (
            "LOOKUP",
            "evil.com",
            "",
            None,
            0,
            f"evil.com is not on this sandbox's network list. Listed: {LISTED}",
        ),
        ("DELETE", "https://other.example.com", "/open/x", 403, 0, reason),
    ]
