"""Each kind of agent against each strict server: nothing is refused, and no reasoning is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from provider_cells import CASES, KINDS, ROUTES, Cell, Kind, play
from provider_matrix import KILLED, cells

from tinyagent.models import providers

QUICK = [case for case in CASES if case != KILLED]
KILLED_CELLS = [
    Cell("OpenAI Responses", "native", streamed=True, case=KILLED),
    Cell("Anthropic", "code", streamed=False, case=KILLED),
    Cell("Gemini", "native", streamed=False, case=KILLED),
    Cell("DeepSeek", "structured", streamed=True, case=KILLED),
]


@pytest.mark.parametrize("streamed", [False, True], ids=["blocking", "streamed"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("route", ROUTES)
async def test_every_request_is_accepted(route: str, kind: Kind, *, streamed: bool) -> None:
    for case in QUICK:
        cell = Cell(route, kind, streamed, case)
        if not cell.impossible:
            faults, requests = await play(cell)
            assert (case, faults) == (case, "")
            assert all(bool(body.get("stream")) == streamed for body in requests)


@pytest.mark.parametrize("cell", KILLED_CELLS, ids=str)
async def test_a_killed_run_continues_with_its_reasoning(cell: Cell) -> None:
    faults, _ = await play(cell)
    assert faults == ""


def test_a_cell_that_cannot_be_is_left_out() -> None:
    assert all(len(cells(route, "plain")) == 8 for route in ROUTES)
    assert {cell.kind for cell in cells("xAI", "parallel calls")} == {"native", "code"}


@pytest.mark.parametrize(
    ("route", "change"),
    [
        ("DeepSeek", {"echo": False, "backfill": None}),
        ("Kimi", {"echo": False, "backfill": None, "rules": ()}),
        ("Mistral", {"stream_options": True}),
        ("vLLM", {"echo": False}),
        ("Groq", {"echo": True, "backfill": ("reasoning_content", "")}),
    ],
)
async def test_a_cell_is_bad_when_the_client_forgets_a_rule(
    route: str, change: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = ROUTES[route].provider
    wrong = replace(providers.PROVIDERS[name], **change)  # type: ignore[arg-type]
    monkeypatch.setattr(providers, "PROVIDERS", {**providers.PROVIDERS, name: wrong})
    monkeypatch.setattr("tinyagent.models.openai.PROVIDERS", providers.PROVIDERS)
    faults, _ = await play(Cell(route, "native", streamed=True, case="plain"))
    assert "refused" in faults or "lost" in faults


async def test_a_cell_is_bad_when_the_answer_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("provider_cells.ANSWER", "It is 4.")
    cell = Cell("OpenAI chat", "native", streamed=False, case="plain")
    monkeypatch.setattr(Cell, "says", lambda *_: "It is 3.")
    faults, _ = await play(cell)
    assert "answered 'It is 3.'" in faults
