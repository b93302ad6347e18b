"""The clients of the service campaign: what they do, what was acknowledged, and the verdict."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from service_campaign_server import PAID

SECONDS = 120
OK, CREATED, ACCEPTED, DONE = 200, 201, 202, 204
FAILED = 500
KEPT = 3
"""How many sessions and files a client keeps before it deletes the oldest."""
COMPARISON = {
    "source_a": "fi_reporting",
    "source_b": "bpc_reporting",
    "measures": ["amount"],
    "align_on": ["company"],
}


@dataclass
class Acknowledged:
    """What the server has said that it has done.

    Attributes:
        titles: The titles that a session may have: the last acknowledged one, and later ones
            whose request had no answer; None among them: it may be deleted.
        turns: The numbers of payments whose turns were answered, with their sessions.
        uploads: The size of a file, None if it is deleted or may be.
        saved: The number of its runs that were acknowledged, and that were asked for.
        notes: The last note of a finding, of each saved comparison.
    """

    titles: dict[str, set[str | None]] = field(default_factory=dict)
    turns: dict[str, str] = field(default_factory=dict)
    uploads: dict[str, set[int | None]] = field(default_factory=dict)
    saved: dict[str, tuple[int, int]] = field(default_factory=dict)
    notes: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    count: int = 0

    def changed(self, allowed: set[Any], value: object, *, is_sure: bool) -> None:
        """Note a change: with an answer only its value is left, without one it may be."""
        if is_sure:
            allowed.clear()
        allowed.add(value)


class Client:
    """Does one thing after the other, and notes what was acknowledged."""

    def __init__(self, url: str, seed: int, known: Acknowledged, numbers: Iterator[int]) -> None:
        self._url = url
        self._chance = random.Random(seed)  # noqa: S311 - not a secret
        self._known = known
        self._numbers = numbers
        self._own: list[str] = []
        self._files: list[str] = []
        self._saved = ""
        self._is_stopped = False

    def stop(self) -> None:
        """Do nothing more after the request in progress."""
        self._is_stopped = True

    async def work(self) -> None:
        """Until it is stopped; a request in progress is awaited: it may change something."""
        limit = aiohttp.ClientTimeout(total=SECONDS)
        acts = (
            *(self._create, self._rename, self._delete, self._pay, self._pay, self._pay),
            *(self._upload, self._remove, self._compare, self._note),
        )
        async with aiohttp.ClientSession(self._url, timeout=limit) as self._http:
            while not self._is_stopped:
                act = self._chance.choice(acts)
                await act()

    async def ask(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        """The status and the JSON of an answer; 0 if there was none."""
        try:
            async with self._http.request(method, path, **options) as answer:
                body = await answer.json() if answer.status in (OK, CREATED, ACCEPTED) else None
        except (aiohttp.ClientError, TimeoutError, ConnectionError):
            await asyncio.sleep(0.05)
            return 0, None
        if answer.status >= FAILED:
            return 0, None
        self._known.count += 1
        return answer.status, body

    async def _create(self) -> None:
        title = f"session {next(self._numbers)}"
        status, body = await self.ask("POST", "/sessions", json={"title": title})
        if status == CREATED:
            self._known.titles[body["id"]] = {title}
            self._own.append(body["id"])

    async def _rename(self) -> None:
        if self._own:
            session, title = self._chance.choice(self._own), f"renamed {next(self._numbers)}"
            allowed = self._known.titles[session]
            status, _ = await self.ask("PATCH", f"/sessions/{session}", json={"title": title})
            if status in (0, OK):
                self._known.changed(allowed, title, is_sure=status == OK)

    async def _delete(self) -> None:
        if len(self._own) > KEPT:
            session = self._own.pop(0)
            status, _ = await self.ask("DELETE", f"/sessions/{session}")
            self._known.changed(self._known.titles[session], None, is_sure=status == DONE)

    async def _pay(self) -> None:
        if self._own:
            session, number = self._chance.choice(self._own[-2:]), str(next(self._numbers))
            body = {"message": f"pay {number}"}
            status, answer = await self.ask("POST", f"/sessions/{session}/chat", json=body)
            if status == OK and answer["response"] == PAID.format(number):
                self._known.turns[number] = session

    async def _upload(self) -> None:
        data = f"id,amount\n1,{next(self._numbers)}\n".encode()
        path = "/uploads?name=a.csv"
        head = {"Content-Type": "application/octet-stream"}
        status, body = await self.ask("POST", path, data=data, headers=head)
        if status == CREATED:
            self._known.uploads[body["id"]] = {len(data)}
            self._files.append(body["id"])

    async def _remove(self) -> None:
        if len(self._files) > KEPT:
            file = self._files.pop(0)
            status, _ = await self.ask("DELETE", f"/uploads/{file}")
            self._known.changed(self._known.uploads[file], None, is_sure=status == DONE)

    async def _compare(self) -> None:
        if not self._saved:
            body = {"name": f"saved {next(self._numbers)}", "comparison": COMPARISON}
            status, made = await self.ask("POST", "/saved", json=body)
            if status == CREATED:
                self._saved = made["id"]
                self._known.saved[self._saved] = 0, 0
            return
        sure, asked = self._known.saved[self._saved]
        status, _ = await self.ask("POST", f"/saved/{self._saved}/runs")
        self._known.saved[self._saved] = (
            sure + (status == ACCEPTED),
            asked + (status in (0, ACCEPTED)),
        )

    async def _note(self) -> None:
        if not self._saved:
            return
        status, report = await self.ask("GET", f"/saved/{self._saved}")
        if status == OK and report["findings"]:
            finding, note = report["findings"][0]["id"], f"note {next(self._numbers)}"
            path = f"/saved/{self._saved}/findings/{finding}"
            status, _ = await self.ask("PUT", path, json={"note": note})
            allowed = self._known.notes.setdefault((self._saved, finding), set())
            if status in (0, OK):
                self._known.changed(allowed, note, is_sure=status == OK)


class Judge:
    """Compares what a server has with what it has acknowledged.

    Args:
        http: To the server.
        known: What was acknowledged.
        paid: How often each payment was made.
    """

    def __init__(
        self, http: aiohttp.ClientSession, known: Acknowledged, paid: Counter[str]
    ) -> None:
        self._http = http
        self._known = known
        self._paid = paid

    async def faults(self) -> list[str]:
        """What is lost, and what was done twice."""
        kinds = (self._sessions(), self._turns(), self._uploads(), self._saved())
        return [fault for kind in kinds async for fault in kind]

    async def _read(self, path: str) -> dict[str, Any] | None:
        async with self._http.get(path) as answer:
            return await answer.json() if answer.status == OK else None

    async def _sessions(self) -> AsyncGenerator[str]:
        for name, titles in self._known.titles.items():
            session = await self._read(f"/sessions/{name}")
            title = None if session is None else session["title"]
            if title not in titles:
                yield f"session {name} has the title {title!r}, not one of {len(titles)}"

    async def _turns(self) -> AsyncGenerator[str]:
        for number, times in self._paid.items():
            if times > 1:
                yield f"payment {number} was made {times} times"
        for number, name in self._known.turns.items():
            session = await self._read(f"/sessions/{name}")
            said = [] if session is None else [one["content"] for one in session["messages"]]
            if self._paid[number] != 1:
                yield f"payment {number} was acknowledged, and made {self._paid[number]} times"
            if session is not None and said.count(PAID.format(number)) != 1:
                yield f"the answer to payment {number} is not in its session once"

    async def _uploads(self) -> AsyncGenerator[str]:
        for name, sizes in self._known.uploads.items():
            file = await self._read(f"/uploads/{name}")
            if (None if file is None else file["bytes"]) not in sizes:
                yield f"upload {name}: {file}, not of {sizes} bytes"

    async def _saved(self) -> AsyncGenerator[str]:
        for name, (_, asked) in self._known.saved.items():
            report = await self._read(f"/saved/{name}")
            if report is None:
                yield f"saved comparison {name} is not there"
                continue
            if len(report["runs"]) > asked:
                yield f"{name} has {len(report['runs'])} runs, and {asked} were asked for"
            now = {each["id"]: each["note"] for each in report["findings"]}
            for (of, finding), notes in self._known.notes.items():
                if of == name and now.get(finding) not in notes:
                    yield f"finding {finding} has the note {now.get(finding)!r}"
