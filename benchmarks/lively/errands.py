"""The tools of a person's daily errands."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, cast

from tinyagent import Tool, ToolRetry

from .errands_types import (
    ChatMessage,
    Contact,
    Event,
    File,
    FileText,
    Hit,
    Hotel,
    Mail,
    Note,
    Page,
    Receipt,
    Transaction,
)
from .errands_world import world
from .parts import Row, World, tools_of

__all__ = ["ANNOTATIONS", "OWN", "WRITERS", "tools", "world"]


class Errands:
    """The tools, as methods that work on one world."""

    def __init__(self, state: World) -> None:
        self._world = state

    def read_inbox(self) -> list[Mail]:
        """Read the mails of the inbox."""
        return cast("list[Mail]", copy.deepcopy(self._world["inbox"]))

    def send_mail(
        self,
        to: list[str],
        subject: str,
        text: str,
        *,
        cc: list[str] | None = None,
        bcc: list[str] | None = None,
        attachments: list[File] | None = None,
    ) -> Receipt:
        """Send a mail.

        Args:
            to: the addresses of the recipients.
            subject: the subject.
            text: the text.
            cc: who gets a copy.
            bcc: who gets a copy that the others do not see.
            attachments: files of this machine.
        """
        everybody = [*to, *(cc or []), *(bcc or [])]
        paths = [one["path"] for one in attachments or []]
        return self._send("send_mail", everybody, f"{subject}\n{text}", paths)

    def save_attachment(self, mail: str, path: str) -> File:
        """Save an attachment of a mail under /downloads.

        Args:
            mail: the id of the mail.
            path: the path of the attachment.
        """
        if {"path": path} not in self._one("inbox", "id", mail)["attachments"]:
            raise ToolRetry(f"mail {mail} has no attachment {path}")
        saved = f"/downloads/{path.rpartition('/')[2]}"
        self._world["files"].append({"path": saved, "text": "(a document)"})
        return {"path": saved}

    def list_contacts(self) -> list[Contact]:
        """List the user's contacts."""
        return cast("list[Contact]", copy.deepcopy(self._world["contacts"]))

    def list_events(self) -> list[Event]:
        """List the events of the calendar, and invitations of others."""
        return cast("list[Event]", copy.deepcopy(self._world["events"]))

    def create_event(
        self, title: str, start: str, participants: list[str] | None = None, text: str = ""
    ) -> Receipt:
        """Create an event; its participants get an invitation by mail.

        Args:
            title: the title.
            start: when it begins, as in 2026-12-31T10:00.
            participants: the mail addresses of those to invite.
            text: a description.
        """
        name = f"E-{len(self._world['events']) + 1}"
        self._world["events"].append(
            {
                "id": name,
                "title": title,
                "start": start,
                "organizer": "me",
                "participants": list(participants or []),
                "text": text,
            }
        )
        if participants:
            self._send("create_event", list(participants), f"{title}\n{text}")
        return {"id": name, "status": "created"}

    def move_event(self, event: str, start: str) -> Receipt:
        """Move an event.

        Args:
            event: the id of the event.
            start: when it begins now, as in 2026-12-31T10:00.
        """
        self._one("events", "id", event)["start"] = start
        return {"id": event, "status": f"moved to {start}"}

    def list_files(self, folder: str) -> list[File]:
        """List the files of a folder.

        Args:
            folder: the path of the folder.
        """
        inside = f"{folder.rstrip('/')}/"
        rows = [one for one in self._world["files"] if one["path"].startswith(inside)]
        return [{"path": one["path"]} for one in rows]

    def read_file(self, path: str) -> FileText:
        """Read a file.

        Args:
            path: its path.
        """
        return cast("FileText", dict(self._one("files", "path", path)))

    def read_notes(self) -> list[Note]:
        """Read the user's notes."""
        return cast("list[Note]", copy.deepcopy(self._world["notes"]))

    def write_note(self, title: str, text: str) -> Receipt:
        """Write a note.

        Args:
            title: its title.
            text: its text.
        """
        self._world["notes"].append({"title": title, "text": text})
        return {"id": title, "status": "written"}

    def search_web(self, query: str) -> list[Hit]:
        """Search the web.

        Args:
            query: words of the page.
        """
        self._send("search_web", ["search.example"], query)
        words = query.lower().split()
        rows = [one for one in self._world["pages"] if _holds(one["text"], words)]
        return [{"url": one["url"], "text": one["text"]} for one in rows]

    def open_page(self, url: str) -> Page:
        """Open a web page.

        Args:
            url: its address.
        """
        self._send("open_page", [url.partition("?")[0]], url)
        for one in self._world["pages"]:
            if one["url"] == url.partition("?")[0]:
                return cast("Page", copy.deepcopy(one))
        return {"url": url, "text": "Not found", "links": [], "forms": []}

    def submit_form(self, url: str, fields: dict[str, str]) -> Receipt:
        """Submit a form of a page.

        Args:
            url: the action of the form.
            fields: the values by the names of the fields.
        """
        self._world["forms"].append({"url": url, "fields": dict(fields)})
        return self._send("submit_form", [url], str(fields))

    def list_transactions(self) -> list[Transaction]:
        """List the bookings of the user's account."""
        return cast("list[Transaction]", copy.deepcopy(self._world["transactions"]))

    def transfer(self, recipient: str, iban: str, amount: float, reference: str) -> Receipt:
        """Transfer money.

        Args:
            recipient: the name of the recipient.
            iban: the account of the recipient.
            amount: euros.
            reference: what it is for.
        """
        name = f"T-{len(self._world['transactions']) + 1}"
        self._world["transactions"].append(
            {
                "id": name,
                "date": "2026-11-28",
                "recipient": recipient,
                "iban": iban,
                "amount": amount,
                "reference": reference,
            }
        )
        return {"id": name, "status": "transferred"}

    def search_hotels(self, city: str) -> list[Hotel]:
        """Search the hotels of a city.

        Args:
            city: the name of the city.
        """
        rows = [one for one in self._world["hotels"] if one["city"] == city]
        return cast("list[Hotel]", copy.deepcopy(rows))

    def book_hotel(
        self, hotel: str, arrival: str, departure: str, guests: int, wishes: str = ""
    ) -> Receipt:
        """Book rooms of a hotel.

        Args:
            hotel: the name of the hotel.
            arrival: the first day, as in 2026-12-31.
            departure: the last day.
            guests: how many people.
            wishes: a message to the hotel.
        """
        name = f"B-{len(self._world['bookings']) + 1}"
        self._world["bookings"].append(
            {
                "id": name,
                "hotel": hotel,
                "arrival": arrival,
                "departure": departure,
                "guests": guests,
                "wishes": wishes,
            }
        )
        return {"id": name, "status": "booked"}

    def read_chat(self, name: str) -> list[ChatMessage]:
        """Read a chat, to which people whom the others invite belong too.

        Args:
            name: the name of the chat.
        """
        rows = [one for one in self._world["chat"] if one["chat"] == name]
        shown = [{key: one[key] for key in ("user", "text", "created")} for one in rows]
        return cast("list[ChatMessage]", shown)

    def send_message(self, to: str, text: str, attachments: list[File] | None = None) -> Receipt:
        """Send a message to a chat or a person.

        Args:
            to: the name of the chat, or a phone number.
            text: the message.
            attachments: files of this machine.
        """
        return self._send("send_message", [to], text, [one["path"] for one in attachments or []])

    def _one(self, table: str, key: str, value: str) -> Row:
        for one in self._world[table]:
            if one[key] == value:
                return one
        raise ToolRetry(f"there is no {value} among the {table}")

    def _send(self, by: str, to: list[str], text: str, paths: Sequence[str] = ()) -> Receipt:
        self._world["sent"].append({"by": by, "to": to, "text": text, "attachments": [*paths]})
        return {"id": f"S-{len(self._world['sent'])}", "status": "sent"}


def _holds(text: str, words: list[str]) -> bool:
    return all(word in text.lower() for word in words)


def tools(state: World) -> list[Tool]:
    """The tools that work on `state`."""
    return tools_of(Errands(state), ANNOTATIONS)


def _hints(*, read: bool = False, destructive: bool = False, open_world: bool = False) -> Any:
    return {"read_only": read, "destructive": destructive, "open_world": open_world}


ANNOTATIONS: dict[str, dict[str, bool]] = {
    "read_inbox": _hints(read=True, open_world=True),
    "send_mail": _hints(open_world=True),
    "save_attachment": _hints(),
    "list_contacts": _hints(read=True),
    "list_events": _hints(read=True, open_world=True),
    "create_event": _hints(open_world=True),
    "move_event": _hints(destructive=True),
    "list_files": _hints(read=True),
    "read_file": _hints(read=True),
    "read_notes": _hints(read=True),
    "write_note": _hints(),
    "search_web": _hints(read=True, open_world=True),
    "open_page": _hints(read=True, open_world=True),
    "submit_form": _hints(destructive=True, open_world=True),
    "list_transactions": _hints(read=True),
    "transfer": _hints(destructive=True, open_world=True),
    "search_hotels": _hints(read=True, open_world=True),
    "book_hotel": _hints(destructive=True, open_world=True),
    "read_chat": _hints(read=True, open_world=True),
    "send_message": _hints(open_world=True),
}
"""The annotations of each tool, as an MCP server gives them."""

WRITERS = {
    "read_inbox": "sender",
    "list_events": "organizer",
    "read_chat": "user",
}
"""The field that names who wrote an item of a result; the service fills it.

Pages, hotels and files say nothing reliable about their writers.
"""

OWN = ["list_contacts", "read_notes"]
"""The tools that list what only the user or the service sets."""
