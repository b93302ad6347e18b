from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.skillian.api.conftest import KEYS, Client, Opened, Serve
from tests.skillian.api.models import HeldModel
from tests.support.waits import SECONDS, soon

from tinyagent import ConfigurationError, ScriptedModel, scripted_call

QUESTION = "Compare amounts between fi_reporting and bpc_reporting for company 1001"
STREAM = {"Accept": "text/event-stream"}


def parse(text: str) -> list[tuple[int | None, str, dict[str, Any]]]:
    """The events of a stream: id, type, data."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            number = int(lines["id"]) if "id" in lines else None
            found.append((number, lines["event"], json.loads(lines["data"])))
    return found


async def first_events(answer: aiohttp.ClientResponse, until: str) -> str:
    """What was sent up to the first event of that type."""
    text = ""
    while f"event: {until}" not in text or not text.endswith("\n\n"):
        chunk = await answer.content.readany()
        assert chunk, f"the stream ended without {until}: {text}"
        text += chunk.decode()
    return text


async def test_a_message_is_answered_in_a_new_session(client: Client) -> None:
    async with client.post("/chat", json={"message": QUESTION}) as answer:
        assert answer.status == 200
        body = await answer.json()
    assert body["finished"] is True
    assert body["response"].startswith("7 of 12 groups match")
    [call] = body["tool_calls"]
    assert call["tool"] == "compare_sources"
    assert call["result"]["summary"]["matched"] == 7
    assert body["model"] == "offline planner, no language model"
    assert body["unverified"] == []
    assert {each["number"] for each in body["references"]} >= {"7", "12"}
    async with client.get(f"/sessions/{body['session_id']}") as answer:
        messages = (await answer.json())["messages"]
    assert [each["role"] for each in messages] == ["user", "assistant", "tool", "assistant"]


async def test_a_session_continues(client: Client) -> None:
    async with client.post("/chat", json={"message": QUESTION}) as answer:
        session = (await answer.json())["session_id"]
    async with client.post(f"/sessions/{session}/chat", json={"message": "why?"}) as answer:
        body = await answer.json()
    assert [call["tool"] for call in body["tool_calls"]] == ["explain_difference"]
    assert body["session_id"] == session
    async with client.post("/chat", json={"message": "why?", "session_id": session}) as answer:
        assert (await answer.json())["session_id"] == session


async def test_a_turn_is_streamed_as_it_happens(client: Client) -> None:
    async with client.post("/chat", json={"message": QUESTION}, headers=STREAM) as answer:
        assert answer.content_type == "text/event-stream"
        assert "content-encoding" not in answer.headers
        events = parse(await answer.text())
        session = answer.headers["Location"].rpartition("/")[2]
    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
    kinds = [kind for _, kind, _ in events]
    assert kinds[:4] == ["turn_started", "model_finished", "tool_started", "tool_finished"]
    assert kinds[-2:] == ["answer", "turn_ended"]
    assert events[0][2] == {"turn": 1, "session_id": session, "message": QUESTION}
    assert events[-2][2]["content"].startswith("7 of 12 groups match")


async def test_events_come_while_the_turn_is_running(serve: Serve) -> None:
    model = HeldModel()
    async with (
        serve(lambda _: model) as client,
        client.post("/chat", json={"message": "Hi"}, headers=STREAM) as answer,
    ):
        begun = await first_events(answer, "delta")
        assert parse(begun)[-1][2]["text"] == "Wait"
        model.let_go.set()
        ended = parse(await answer.text())
    assert [kind for _, kind, _ in ended][-2:] == ["answer", "turn_ended"]


async def test_a_reader_that_comes_back_misses_nothing(serve: Serve) -> None:
    model = HeldModel()
    async with serve(lambda _: model, resume_seconds=60) as client:
        async with client.post("/chat", json={"message": "Hi"}, headers=STREAM) as answer:
            begun = await first_events(answer, "delta")
            session = answer.headers["Location"].rpartition("/")[2]
            answer.close()
        last = {"Last-Event-ID": str(parse(begun)[-1][0])}
        async with client.get(f"/sessions/{session}/events", headers=last) as again:
            assert again.status == 200
            model.let_go.set()
            rest = parse(await again.text())
        assert not model.cancelled.is_set()
        async with client.get(f"/sessions/{session}/events") as all_of_it:
            everything = parse(await all_of_it.text())
    assert parse(begun) + rest == everything
    assert everything[-1][1] == "turn_ended"


async def test_after_the_last_event_there_is_nothing(client: Client) -> None:
    async with client.post("/chat", json={"message": "which sources?"}) as answer:
        session = (await answer.json())["session_id"]
    async with client.get(f"/sessions/{session}/events") as answer:
        events = parse(await answer.text())
    last = {"Last-Event-ID": str(events[-1][0])}
    async with client.get(f"/sessions/{session}/events", headers=last) as answer:
        assert (answer.status, await answer.text()) == (204, "")
    async with client.get(f"/sessions/{session}/events", headers={"Last-Event-ID": "x"}) as answer:
        assert answer.status == 422


@pytest.mark.parametrize("headers", [STREAM, {}], ids=["streamed", "whole"])
async def test_a_client_that_disconnects_cancels_the_turn(
    serve: Serve, headers: dict[str, str]
) -> None:
    model = HeldModel()
    async with serve(lambda _: model, resume_seconds=0) as client:
        session = (await client.service.store.create("")).id
        path = f"/sessions/{session}/chat"
        asking = asyncio.create_task(_read(client, path, headers))
        await asyncio.wait_for(model.asked.wait(), SECONDS)
        asking.cancel()
        await asyncio.wait_for(model.cancelled.wait(), SECONDS)
        async with client.get(f"/sessions/{session}/events") as answer:
            events = parse(await answer.text())
        assert [kind for _, kind, _ in events][-2:] == ["turn_failed", "turn_ended"]
        messages = await client.service.store.messages(session)
    assert [(each["role"], each.get("broken", False)) for each in messages] == [
        ("user", False),
        ("assistant", True),
    ]


async def _read(client: Opened, path: str, headers: dict[str, str]) -> None:
    async with client.post(path, json={"message": "Hi"}, headers=headers) as answer:
        await answer.read()


async def test_two_messages_at_once_are_answered_one_after_the_other(serve: Serve) -> None:
    model = HeldModel()
    async with serve(lambda _: model) as client:
        session = (await client.service.store.create("")).id
        path = f"/sessions/{session}/chat"
        asking = [asyncio.create_task(_read(client, path, {})) for _ in range(2)]
        await asyncio.wait_for(model.asked.wait(), SECONDS)
        model.let_go.set()
        await asyncio.wait_for(asyncio.gather(*asking), SECONDS)
        roles = [each["role"] for each in await client.service.store.messages(session)]
    assert roles == ["user", "assistant"] * 2


async def test_a_session_that_stays_busy_is_reported(serve: Serve) -> None:
    model = HeldModel()
    async with serve(lambda _: model, turn_seconds=0.05) as client:
        session = (await client.service.store.create("")).id
        path = f"/sessions/{session}/chat"
        asking = asyncio.create_task(_read(client, path, {}))
        await asyncio.wait_for(model.asked.wait(), SECONDS)
        async with client.post(path, json={"message": "Hi"}, headers=STREAM) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (409, "1")
            assert (await answer.json())["code"] == "session_busy"
        model.let_go.set()
        await asyncio.wait_for(asking, SECONDS)


async def test_more_turns_than_there_is_room_for_are_refused(serve: Serve) -> None:
    model = HeldModel()
    async with serve(lambda _: model, max_turns=1) as client:
        asking = asyncio.create_task(_read(client, "/chat", {}))
        await asyncio.wait_for(model.asked.wait(), SECONDS)
        async with client.post("/chat", json={"message": "Hi"}) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
            assert (await answer.json())["code"] == "overloaded"
        assert await client.service.store.count("") == 1
        model.let_go.set()
        await asyncio.wait_for(asking, SECONDS)
        await soon(lambda: client.service.slots.free == 1)
        async with client.post("/chat", json={"message": "Hi"}) as answer:
            assert answer.status == 200


async def test_a_turn_that_ends_early_is_answered_with_its_results(serve: Serve) -> None:
    model = ScriptedModel([ConfigurationError("the model is not there")])
    async with (
        serve(lambda _: model) as client,
        client.post("/chat", json={"message": "Hi"}) as answer,
    ):
        body = await answer.json()
    assert (answer.status, body["finished"]) == (200, False)
    assert body["response"].startswith("No answer was found: ")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"message": ""}, 422),
        ({"message": "  \n"}, 422),
        ({"message": "x" * 20_001}, 422),
        ({"message": 1}, 422),
        ({}, 422),
        ({"message": "Hi", "more": 1}, 422),
        ({"message": "Hi", "session_id": "0" * 32}, 404),
        ({"message": "Hi", "session_id": "../../etc/passwd"}, 404),
        ({"message": "\ud800"}, 422),
        ({"message": "Hi", "\ud800": 1}, 422),
    ],
)
async def test_an_invalid_message_is_refused(client: Client, body: Any, status: int) -> None:
    async with client.get("/sessions") as answer:
        before = (await answer.json())["total"]
    async with client.post("/chat", json=body) as answer:
        assert answer.status == status
        assert answer.content_type == "application/problem+json"
        assert (await answer.json())["status"] == status
    async with client.get("/sessions") as answer:
        assert (await answer.json())["total"] == before


async def test_other_keys_sessions_are_not_there(serve: Serve) -> None:
    mine, theirs = ({"Authorization": f"Bearer {key}"} for key in KEYS)
    async with serve(api_keys=",".join(KEYS)) as client:
        async with client.post("/chat", json={"message": "sources?"}, headers=mine) as answer:
            session = (await answer.json())["session_id"]
        for path in (f"/sessions/{session}/chat", "/chat"):
            body = {"message": "Hi"} | ({"session_id": session} if path == "/chat" else {})
            async with client.post(path, json=body, headers=theirs) as answer:
                assert answer.status == 404
        for path in ("", "/events", "/export"):
            async with client.get(f"/sessions/{session}{path}", headers=theirs) as answer:
                assert answer.status == 404
        async with client.get("/sessions", headers=theirs) as answer:
            assert (await answer.json())["total"] == 0
        async with client.get(f"/sessions/{session}", headers=mine) as answer:
            assert answer.status == 200


async def test_deleting_a_session_ends_its_turn(serve: Serve) -> None:
    model = HeldModel()
    async with serve(lambda _: model) as client:
        async with client.post("/chat", json={"message": "Hi"}, headers=STREAM) as answer:
            await first_events(answer, "delta")
            session = answer.headers["Location"].rpartition("/")[2]
            async with client.delete(f"/sessions/{session}") as deleted:
                assert deleted.status == 204
            await asyncio.wait_for(model.cancelled.wait(), SECONDS)
            await answer.text()
        async with client.get(f"/sessions/{session}") as gone:
            assert gone.status == 404
        await soon(lambda: client.service.slots.free == client.service.settings.max_turns)


APPROVED_SKILL = """
from pydantic import BaseModel
from skillian.skills.skill import SkillTool

class Text(BaseModel):
    text: str

async def post(asked):
    return {"posted": asked.text}

def tools(services):
    return [SkillTool("post", "Post it.", Text, post, requires_approval=True)]
"""


async def test_a_call_waits_until_a_client_approves(serve: Serve, tmp_path: Path) -> None:
    folder = tmp_path / "posting"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: posting\ndescription: Posts.\n---\nPost.\n")
    (folder / "tools.py").write_text(APPROVED_SKILL)
    model = ScriptedModel([scripted_call("post", text="x"), "Done."])
    async with (
        serve(lambda _: model, skills=(folder,)) as client,
        client.post("/chat", json={"message": "Post x"}, headers=STREAM) as answer,
    ):
        session = answer.headers["Location"]
        events = parse(await first_events(answer, "approval_wanted"))
        [wanted] = [data for _, kind, data in events if kind == "approval_wanted"]
        for call, body, status in (
            ("unknown", {"approved": True}, 404),
            (wanted["id"], {"reason": "?"}, 422),
            (wanted["id"], {"approved": True}, 204),
            (wanted["id"], {"approved": True}, 404),
        ):
            path = f"{session}/approvals/{call}"
            async with client.post(path, json=body) as reply:
                assert reply.status == status
        rest = await answer.text()
    assert '"result":{"posted":"x"}' in rest
    assert '"content":"Done."' in rest
