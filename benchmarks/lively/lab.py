"""The tools of a research group's assistant."""

from __future__ import annotations

import copy
from typing import Any, cast

from tinyagent import Tool, ToolRetry

from .lab_types import (
    Article,
    Author,
    Doc,
    Event,
    Grant,
    Head,
    Line,
    Link,
    Mail,
    Member,
    Page,
    Post,
    Receipt,
    Review,
)
from .lab_world import world
from .parts import Row, World, tools_of

__all__ = ["ANNOTATIONS", "OWN", "WRITERS", "tools", "world"]


class Lab:
    """The tools, as methods that work on one world."""

    def __init__(self, state: World) -> None:
        self._world = state

    def inbox(self) -> list[Mail]:
        """The mails to the assistant."""
        return cast("list[Mail]", copy.deepcopy(self._world["mails"]))

    def write_mail(
        self, recipients: list[str], subject: str, body: str, docs: list[str] | None = None
    ) -> Receipt:
        """Write a mail.

        Args:
            recipients: their addresses.
            subject: the subject.
            body: the text.
            docs: the ids of documents that are attached.
        """
        return self._send("write_mail", recipients, f"{subject}\n{body}", docs)

    def search_docs(self, query: str) -> list[Head]:
        """Search the titles of the documents that people share with the group.

        Args:
            query: words of the title.
        """
        words = query.lower().split()
        rows = [one for one in self._world["docs"] if _holds(one["title"], words)]
        return [
            {"id": one["id"], "title": one["title"], "owner": one["owner"]}
            for one in rows
            if not one["deleted"]
        ]

    def read_doc(self, doc: str) -> Doc:
        """Read a document with the comments beside it.

        Args:
            doc: its id.
        """
        one = self._one("docs", "id", doc)
        shown: dict[str, Any] = {name: one[name] for name in ("id", "title", "owner", "body")}
        rows = [each for each in self._world["comments"] if each["doc"] == doc]
        shown["comments"] = [{"by": each["by"], "body": each["body"]} for each in rows]
        return cast("Doc", shown)

    def append_to_doc(self, doc: str, text: str) -> Receipt:
        """Add a text at the end of a document.

        Args:
            doc: its id.
            text: the text.
        """
        one = self._one("docs", "id", doc)
        one["body"] = f"{one['body']}\n{text}"
        return {"id": doc, "status": "changed"}

    def share_doc(self, doc: str, grants: list[Grant]) -> Receipt:
        """Let people see or change a document.

        Args:
            doc: its id.
            grants: who gets which role; who is a mail address.
        """
        self._one("docs", "id", doc)["grants"].extend(copy.deepcopy(grants))
        return {"id": doc, "status": "shared"}

    def delete_doc(self, doc: str) -> Receipt:
        """Delete a document for good.

        Args:
            doc: its id.
        """
        self._one("docs", "id", doc)["deleted"] = True
        return {"id": doc, "status": "deleted"}

    def calendar(self) -> list[Event]:
        """The events in the calendar, with invitations from outside."""
        return cast("list[Event]", copy.deepcopy(self._world["events"]))

    def create_event(
        self, title: str, start: str, room: str = "", guests: list[str] | None = None
    ) -> Receipt:
        """Create an event and invite guests.

        Args:
            title: its title.
            start: its begin, as in 2026-12-31T15:00.
            room: the room to book.
            guests: the mail addresses of the guests.
        """
        name = f"E-{len(self._world['events']) + 1}"
        self._world["events"].append(
            {"id": name, "title": title, "start": start, "organizer": "me", "room": room}
        )
        return self._send("create_event", list(guests or []), f"{title} {start}", None)

    def move_event(self, event: str, start: str) -> Receipt:
        """Move an event.

        Args:
            event: its id.
            start: the new begin.
        """
        self._one("events", "id", event)["start"] = start
        return {"id": event, "status": "moved"}

    def read_channel(self, channel: str) -> list[Post]:
        """Read a channel, in which guests of the group write, too.

        Args:
            channel: its name.
        """
        rows = [one for one in self._world["posts"] if one["channel"] == channel]
        return [{"user": one["user"], "text": one["text"]} for one in rows]

    def post(self, channel: str, text: str) -> Receipt:
        """Post a message in a channel.

        Args:
            channel: its name.
            text: the message.
        """
        self._world["posts"].append({"channel": channel, "user": "me", "text": text})
        return self._send("post", [channel], text, None)

    def members(self) -> list[Member]:
        """The members of the group, as its secretary has entered them."""
        return cast("list[Member]", copy.deepcopy(self._world["members"]))

    def submissions(self) -> list[dict[str, str]]:
        """The papers that the group has submitted."""
        return copy.deepcopy(self._world["submissions"])

    def reviews(self, submission: str) -> list[Review]:
        """The reviews of a submission and what others say about it in public.

        Args:
            submission: its id.
        """
        rows = [one for one in self._world["reviews"] if one["submission"] == submission]
        names = ("id", "reviewer", "score", "text")
        return cast("list[Review]", [{name: one[name] for name in names} for one in rows])

    def respond(self, review: str, text: str) -> Receipt:
        """Publish a response to a review.

        Args:
            review: its id.
            text: the response.
        """
        self._one("reviews", "id", review)
        self._world["responses"].append({"review": review, "text": text})
        return self._send("respond", [review], text, None)

    def withdraw(self, submission: str) -> Receipt:
        """Withdraw a submission.

        Args:
            submission: its id.
        """
        self._one("submissions", "id", submission)["status"] = "withdrawn"
        return {"id": submission, "status": "withdrawn"}

    def submit_paper(
        self, url: str, doc: str, track: str, authors: list[Author] | None = None
    ) -> Receipt:
        """Submit a document to a venue.

        Args:
            url: the address at which the venue takes papers.
            doc: the id of the document.
            track: the track of the venue.
            authors: the authors; without them, the owner of the document.
        """
        self._one("docs", "id", doc)
        self._world["submitted"].append(
            {"url": url, "doc": doc, "track": track, "authors": copy.deepcopy(authors or [])}
        )
        return self._send("submit_paper", [url], track, [doc])

    def catalogue(self, query: str) -> list[Article]:
        """Search the articles of all suppliers.

        Args:
            query: words of the name.
        """
        words = query.lower().split()
        rows = [one for one in self._world["articles"] if _holds(one["name"], words)]
        return cast("list[Article]", copy.deepcopy(rows))

    def order(self, supplier: str, lines: list[Line], deliver_to: str = "") -> Receipt:
        """Order articles on the group's account.

        Args:
            supplier: the name of the supplier.
            lines: the articles with their quantities.
            deliver_to: an address; empty for the laboratory.
        """
        for line in lines:
            self._one("articles", "article", line["article"])
        self._world["ordered"].append(
            {"supplier": supplier, "lines": copy.deepcopy(lines), "deliver_to": deliver_to}
        )
        return {"id": f"B-{len(self._world['ordered'])}", "status": "ordered"}

    def reimburse(self, person: str, iban: str, amount: float, reason: str) -> Receipt:
        """Pay somebody back what they have spent.

        Args:
            person: their name.
            iban: their account.
            amount: in euros.
            reason: what it was spent on.
        """
        self._world["payments"].append(
            {"person": person, "iban": iban, "amount": amount, "reason": reason}
        )
        return {"id": f"T-{len(self._world['payments'])}", "status": "paid"}

    def grant_access(self, person: str, resource: str, until: str) -> Receipt:
        """Let somebody use a machine.

        Args:
            person: their mail address.
            resource: the name of the machine.
            until: the last day.
        """
        self._world["access"].append({"person": person, "resource": resource, "until": until})
        return {"id": resource, "status": "granted"}

    def search_web(self, query: str) -> list[Link]:
        """Search the web.

        Args:
            query: words of the title.
        """
        words = query.lower().split()
        rows = [one for one in self._world["hits"] if _holds(one["title"], words)]
        return cast("list[Link]", copy.deepcopy(rows))

    def open_page(self, url: str) -> Page:
        """Open a web page.

        Args:
            url: its address.
        """
        address = url.partition("?")[0]
        self._send("open_page", [address], url, None)
        rows = [one for one in self._world["pages"] if one["url"] == address]
        return cast("Page", rows[0] if rows else {"url": url, "body": "Not found"})

    def _one(self, table: str, key: str, value: str) -> Row:
        for one in self._world[table]:
            if one[key] == value:
                return one
        raise ToolRetry(f"there is no {value} among the {table}")

    def _send(self, by: str, to: list[str], text: str, docs: list[str] | None) -> Receipt:
        self._world["sent"].append({"by": by, "to": to, "text": text, "docs": list(docs or [])})
        return {"id": f"X-{len(self._world['sent'])}", "status": "sent"}


def _holds(text: str, words: list[str]) -> bool:
    return all(word in text.lower() for word in words)


def tools(state: World) -> list[Tool]:
    """The tools that work on `state`."""
    return tools_of(Lab(state), ANNOTATIONS)


def _hints(*, read: bool = False, destructive: bool = False, open_world: bool = False) -> Any:
    return {"read_only": read, "destructive": destructive, "open_world": open_world}


ANNOTATIONS: dict[str, dict[str, bool]] = {
    "inbox": _hints(read=True, open_world=True),
    "write_mail": _hints(open_world=True),
    "search_docs": _hints(read=True, open_world=True),
    "read_doc": _hints(read=True, open_world=True),
    "append_to_doc": _hints(),
    "share_doc": _hints(open_world=True),
    "delete_doc": _hints(destructive=True),
    "calendar": _hints(read=True, open_world=True),
    "create_event": _hints(open_world=True),
    "move_event": _hints(destructive=True),
    "read_channel": _hints(read=True, open_world=True),
    "post": _hints(open_world=True),
    "members": _hints(read=True),
    "submissions": _hints(read=True),
    "reviews": _hints(read=True, open_world=True),
    "respond": _hints(open_world=True),
    "withdraw": _hints(destructive=True, open_world=True),
    "submit_paper": _hints(open_world=True),
    "catalogue": _hints(read=True, open_world=True),
    "order": _hints(destructive=True, open_world=True),
    "reimburse": _hints(destructive=True, open_world=True),
    "grant_access": _hints(destructive=True),
    "search_web": _hints(read=True, open_world=True),
    "open_page": _hints(read=True, open_world=True),
}
"""The annotations of each tool, as an MCP server gives them."""

WRITERS = {
    "inbox": "sender",
    "search_docs": "owner",
    "read_doc": "comments.by",
    "calendar": "organizer",
    "read_channel": "user",
    "reviews": "reviewer",
}
"""The field that names who wrote an item of a result; the service fills it."""

OWN = ["members", "submissions"]
"""The tools that list what only the user or the service sets."""
