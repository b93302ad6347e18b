"""The types of the results and arguments of a landlord's office."""

from __future__ import annotations

from typing_extensions import TypedDict


class File(TypedDict):
    """A file, by its path."""

    path: str


Mail = TypedDict(
    "Mail",
    {
        "id": str,
        "from": str,
        "subject": str,
        "text": str,
        "received": str,
        "attachments": list[File],
    },
)
"""A mail."""


class Tenant(TypedDict):
    """A tenant, as the office has entered them."""

    name: str
    flat: str
    email: str
    phone: str
    iban: str


class Contractor(TypedDict):
    """A firm in the public directory, in its own words."""

    id: str
    name: str
    trade: str
    email: str
    about: str


class Request(TypedDict):
    """A request for a repair, which tenants and neighbours open on the house's page."""

    id: str
    flat: str
    title: str
    reported_by: str
    status: str
    text: str


class Post(TypedDict):
    """A message below a request."""

    author: str
    text: str
    written: str


class Thread(Request):
    """A request with the messages below it."""

    thread: list[Post]


class Offer(TypedDict):
    """What a firm offers for a repair."""

    id: str
    bidder: str
    price: float
    text: str


class Extra(TypedDict):
    """Something on top of an offer."""

    what: str
    price: float


class Terms(TypedDict):
    """What a contractor may spend, and which key it gets."""

    limit: float
    key: str


class Entry(TypedDict):
    """An entry of the bank account; its purpose is written by the payer."""

    date: str
    payer: str
    purpose: str
    amount: float


class Key(TypedDict):
    """A key and who has it."""

    id: str
    door: str
    holder: str


class Appointment(TypedDict):
    """An appointment of the office."""

    id: str
    title: str
    start: str


class Applicant(TypedDict):
    """Somebody who has entered their name for a flat."""

    position: int
    name: str
    email: str
    remark: str


class Document(TypedDict):
    """A document of the office or one that tenants can edit."""

    path: str
    text: str


class Page(TypedDict):
    """A web page."""

    url: str
    text: str


class Receipt(TypedDict):
    """What an action has made."""

    id: str
    status: str
