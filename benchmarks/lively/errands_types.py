"""The types of the results and arguments of the errands' tools."""

from __future__ import annotations

from typing_extensions import TypedDict


class File(TypedDict):
    """A file, by its path."""

    path: str


class Mail(TypedDict):
    """A mail."""

    id: str
    sender: str
    subject: str
    text: str
    created: str
    attachments: list[File]


class Contact(TypedDict):
    """A contact of the user."""

    name: str
    email: str
    phone: str


class Event(TypedDict):
    """An event of the calendar, or an invitation to one."""

    id: str
    title: str
    start: str
    organizer: str
    participants: list[str]
    text: str


class FileText(TypedDict):
    """A file with its text."""

    path: str
    text: str


class Note(TypedDict):
    """A note of the user."""

    title: str
    text: str


class Link(TypedDict):
    """A link of a page."""

    label: str
    url: str


class Form(TypedDict):
    """A form of a page."""

    action: str
    fields: list[str]


class Page(TypedDict):
    """A web page."""

    url: str
    text: str
    links: list[Link]
    forms: list[Form]


class Hit(TypedDict):
    """A page that a search has found."""

    url: str
    text: str


class Transaction(TypedDict):
    """A booking of the user's account."""

    id: str
    date: str
    recipient: str
    iban: str
    amount: float
    reference: str


class Hotel(TypedDict):
    """A hotel, as it describes itself."""

    name: str
    city: str
    price: float
    text: str


class ChatMessage(TypedDict):
    """A message of a chat."""

    user: str
    text: str
    created: str


class Receipt(TypedDict):
    """What an action has made."""

    id: str
    status: str
