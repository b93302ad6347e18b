"""The tools of a landlord's office."""

from __future__ import annotations

import copy
from typing import Any, cast

from tinyagent import Tool, ToolRetry

from .lettings_types import (
    Applicant,
    Appointment,
    Contractor,
    Document,
    Entry,
    Extra,
    File,
    Key,
    Mail,
    Offer,
    Page,
    Receipt,
    Request,
    Tenant,
    Terms,
    Thread,
)
from .lettings_world import world
from .parts import Row, World, tools_of

__all__ = ["ANNOTATIONS", "OWN", "WRITERS", "tools", "world"]


class Lettings:
    """The tools, as methods that work on one world."""

    def __init__(self, state: World) -> None:
        self._world = state

    def read_mails(self) -> list[Mail]:
        """Read the mails of the office."""
        return cast("list[Mail]", copy.deepcopy(self._world["mails"]))

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
            attachments: documents of the office.
        """
        everybody = [*to, *(cc or []), *(bcc or [])]
        return self._send("send_mail", everybody, f"{subject}\n{text}", attachments)

    def tenants(self) -> list[Tenant]:
        """The office's list of tenants."""
        return cast("list[Tenant]", copy.deepcopy(self._world["tenants"]))

    def contractors(self, trade: str) -> list[Contractor]:
        """Search the public directory of contractors.

        Args:
            trade: the trade, such as plumber.
        """
        rows = [one for one in self._world["contractors"] if trade.lower() in one["trade"].lower()]
        return cast("list[Contractor]", copy.deepcopy(rows))

    def list_requests(self) -> list[Request]:
        """List the requests for repairs."""
        return cast("list[Request]", [_shown(one) for one in self._world["requests"]])

    def read_request(self, request: str) -> Thread:
        """Read a request for a repair and the messages below it.

        Args:
            request: the id of the request.
        """
        shown = _shown(self._one("requests", "id", request))
        posts = [one for one in self._world["posts"] if one["request"] == request]
        shown["thread"] = [
            {name: one[name] for name in ("author", "text", "written")} for one in posts
        ]
        return cast("Thread", shown)

    def write_to_request(
        self, request: str, text: str, attachments: list[File] | None = None
    ) -> Receipt:
        """Write a message below a request, which the whole house can read.

        Args:
            request: the id of the request.
            text: the message.
            attachments: documents of the office.
        """
        self._one("requests", "id", request)
        self._world["posts"].append(
            {"request": request, "author": "office", "text": text, "written": "2026-11-28"}
        )
        return self._send("write_to_request", [request], text, attachments)

    def assign_request(
        self, request: str, contractor: str, date: str, terms: Terms | None = None
    ) -> Receipt:
        """Order a contractor to do a repair.

        Args:
            request: the id of the request.
            contractor: the id of the contractor.
            date: the day, as in 2026-12-31.
            terms: what it may spend and which key it gets; without them, the usual ones.
        """
        one = self._one("requests", "id", request)
        self._one("contractors", "id", contractor)
        one.update(contractor=contractor, date=date, terms=copy.deepcopy(terms))
        return {"id": request, "status": "assigned"}

    def close_request(self, request: str, note: str) -> Receipt:
        """Close a request for a repair.

        Args:
            request: the id of the request.
            note: what the tenant reads.
        """
        self._one("requests", "id", request).update(status="closed", note=note)
        return {"id": request, "status": "closed"}

    def offers(self, request: str) -> list[Offer]:
        """The offers of contractors for a repair.

        Args:
            request: the id of the request.
        """
        rows = [one for one in self._world["offers"] if one["request"] == request]
        shown = [{name: one[name] for name in ("id", "bidder", "price", "text")} for one in rows]
        return cast("list[Offer]", shown)

    def accept_offer(self, offer: str, date: str, extras: list[Extra] | None = None) -> Receipt:
        """Accept an offer of a contractor.

        Args:
            offer: the id of the offer.
            date: the day of the repair.
            extras: what is ordered on top, with its price.
        """
        self._one("offers", "id", offer).update(accepted=date, extras=list(extras or []))
        return {"id": offer, "status": "accepted"}

    def account_entries(self) -> list[Entry]:
        """The entries of the office's bank account."""
        return cast("list[Entry]", copy.deepcopy(self._world["entries"]))

    def pay(
        self, payee: str, iban: str, amount: float, purpose: str, notify: list[str] | None = None
    ) -> Receipt:
        """Pay from the office's account.

        Args:
            payee: the name of who gets it.
            iban: their account.
            amount: in euros.
            purpose: what it is for.
            notify: the mail addresses that get a statement of the account.
        """
        name = f"T-{len(self._world['payments']) + 1}"
        self._world["payments"].append(
            {
                "id": name,
                "payee": payee,
                "iban": iban,
                "amount": amount,
                "purpose": purpose,
                "notify": list(notify or []),
            }
        )
        return {"id": name, "status": "paid"}

    def keys(self) -> list[Key]:
        """The keys of the house, and who has them."""
        return cast("list[Key]", copy.deepcopy(self._world["keys"]))

    def hand_out_key(
        self, key: str, to: str, until: str, further_keys: list[str] | None = None
    ) -> Receipt:
        """Open the key safe for somebody.

        Args:
            key: the id of the key.
            to: who may take it.
            until: the day on which it must be back.
            further_keys: the ids of other keys that they may take, too.
        """
        for name in (key, *(further_keys or [])):
            self._one("keys", "id", name)["holder"] = f"{to} until {until}"
        return {"id": key, "status": "handed out"}

    def appointments(self) -> list[Appointment]:
        """The appointments that the office has made."""
        return cast("list[Appointment]", copy.deepcopy(self._world["appointments"]))

    def waiting_list(self, flat: str) -> list[Applicant]:
        """The people who have entered their names for a flat on our page.

        Args:
            flat: the number of the flat.
        """
        rows = [one for one in self._world["applicants"] if one["flat"] == flat]
        names = ("position", "name", "email", "remark")
        return cast("list[Applicant]", [{name: one[name] for name in names} for one in rows])

    def book_viewing(self, flat: str, when: str, visitor: str) -> Receipt:
        """Book a viewing of a flat.

        Args:
            flat: the number of the flat.
            when: the time, as in 2026-12-31T15:00.
            visitor: the name of who comes.
        """
        self._world["viewings"].append({"flat": flat, "when": when, "visitor": visitor})
        return {"id": f"V-{len(self._world['viewings'])}", "status": "booked"}

    def list_documents(self) -> list[File]:
        """The documents of the office and the house."""
        rows = [one for one in self._world["documents"] if not one["deleted"]]
        return [{"path": one["path"]} for one in rows]

    def read_document(self, path: str) -> Document:
        """Read a document; those under /house can be edited by all tenants.

        Args:
            path: its path.
        """
        one = self._one("documents", "path", path)
        return {"path": one["path"], "text": one["text"]}

    def delete_document(self, path: str) -> Receipt:
        """Delete a document.

        Args:
            path: its path.
        """
        self._one("documents", "path", path)["deleted"] = True
        return {"id": path, "status": "deleted"}

    def fetch_page(self, url: str) -> Page:
        """Fetch a web page.

        Args:
            url: its address.
        """
        address = url.partition("?")[0]
        self._send("fetch_page", [address], url, None)
        rows = [one for one in self._world["pages"] if one["url"] == address]
        return cast("Page", rows[0] if rows else {"url": url, "text": "Not found"})

    def _one(self, table: str, key: str, value: str) -> Row:
        for one in self._world[table]:
            if one[key] == value:
                return one
        raise ToolRetry(f"there is no {value} among the {table}")

    def _send(self, by: str, to: list[str], text: str, attachments: list[File] | None) -> Receipt:
        paths = [one["path"] for one in attachments or []]
        self._world["sent"].append({"by": by, "to": to, "text": text, "attachments": paths})
        return {"id": f"S-{len(self._world['sent'])}", "status": "sent"}


def _shown(request: Row) -> Row:
    names = ("id", "flat", "title", "reported_by", "status", "text")
    return {name: request[name] for name in names}


def tools(state: World) -> list[Tool]:
    """The tools that work on `state`."""
    return tools_of(Lettings(state), ANNOTATIONS)


def _hints(*, read: bool = False, destructive: bool = False, open_world: bool = False) -> Any:
    return {"read_only": read, "destructive": destructive, "open_world": open_world}


ANNOTATIONS: dict[str, dict[str, bool]] = {
    "read_mails": _hints(read=True, open_world=True),
    "send_mail": _hints(open_world=True),
    "tenants": _hints(read=True),
    "contractors": _hints(read=True, open_world=True),
    "list_requests": _hints(read=True, open_world=True),
    "read_request": _hints(read=True, open_world=True),
    "write_to_request": _hints(open_world=True),
    "assign_request": _hints(destructive=True, open_world=True),
    "close_request": _hints(destructive=True),
    "offers": _hints(read=True, open_world=True),
    "accept_offer": _hints(destructive=True, open_world=True),
    "account_entries": _hints(read=True, open_world=True),
    "pay": _hints(destructive=True, open_world=True),
    "keys": _hints(read=True),
    "hand_out_key": _hints(destructive=True, open_world=True),
    "appointments": _hints(read=True),
    "waiting_list": _hints(read=True, open_world=True),
    "book_viewing": _hints(open_world=True),
    "list_documents": _hints(read=True),
    "read_document": _hints(read=True),
    "delete_document": _hints(destructive=True),
    "fetch_page": _hints(read=True, open_world=True),
}
"""The annotations of each tool, as an MCP server gives them."""

WRITERS = {
    "read_mails": "from",
    "list_requests": "reported_by",
    "read_request": "thread.author",
    "offers": "bidder",
}
"""The field that names who wrote an item of a result; the service fills it."""

OWN = ["tenants", "keys", "appointments"]
"""The tools that list what only the user or the service sets."""
