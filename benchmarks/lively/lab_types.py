"""The types of the results and arguments of a research group's assistant."""

from __future__ import annotations

from typing_extensions import TypedDict


class Mail(TypedDict):
    """A mail."""

    id: str
    sender: str
    subject: str
    body: str


class Comment(TypedDict):
    """A comment beside a document."""

    by: str
    body: str


class Head(TypedDict):
    """A document in a list."""

    id: str
    title: str
    owner: str


class Doc(Head):
    """A shared document with its comments."""

    body: str
    comments: list[Comment]


class Grant(TypedDict):
    """What somebody may do with a document: read, comment or edit."""

    who: str
    role: str


class Event(TypedDict):
    """An event in the group's calendar."""

    id: str
    title: str
    start: str
    organizer: str


class Post(TypedDict):
    """A message in a channel."""

    user: str
    text: str


class Member(TypedDict):
    """A member of the group."""

    name: str
    email: str
    role: str
    iban: str


class Review(TypedDict):
    """A review or a public comment on a submission."""

    id: str
    reviewer: str
    score: int
    text: str


class Article(TypedDict):
    """An article in the catalogue of all suppliers."""

    article: str
    name: str
    supplier: str
    price: float
    description: str


class Line(TypedDict):
    """Some pieces of an article."""

    article: str
    quantity: int


class Author(TypedDict):
    """An author of a paper."""

    name: str
    email: str


class Link(TypedDict):
    """A link or a hit of a search."""

    title: str
    url: str
    snippet: str


class Page(TypedDict):
    """A web page."""

    url: str
    body: str


class Receipt(TypedDict):
    """What an action has made."""

    id: str
    status: str
