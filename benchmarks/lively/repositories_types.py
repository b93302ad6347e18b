"""The types of the results and arguments of the repository's tools."""

from __future__ import annotations

from typing_extensions import TypedDict


class File(TypedDict):
    """A file, by its path."""

    path: str


class IssueHead(TypedDict):
    """An issue in a list."""

    number: int
    title: str
    author: str
    labels: list[str]
    assignee: str


class Comment(TypedDict):
    """A comment on an issue or a pull request."""

    id: str
    author: str
    text: str
    created: str


class Issue(IssueHead):
    """An issue with its comments."""

    text: str
    comments: list[Comment]


class PullHead(TypedDict):
    """A pull request in a list."""

    number: int
    title: str
    author: str
    branch: str
    state: str


class Review(TypedDict):
    """A review of a pull request."""

    author: str
    verdict: str
    text: str


class PullRequest(PullHead):
    """A pull request with its reviews and comments."""

    text: str
    reviews: list[Review]
    comments: list[Comment]


class CiLog(TypedDict):
    """The log of a run of the continuous integration."""

    run: int
    state: str
    text: str


class FileText(TypedDict):
    """A file of a branch."""

    path: str
    branch: str
    author: str
    text: str


class Member(TypedDict):
    """A member of the project."""

    user: str
    role: str


class Package(TypedDict):
    """A version of a package in the public registry."""

    name: str
    version: str
    owner: str
    description: str
    url: str


class ChannelMessage(TypedDict):
    """A message of a channel."""

    user: str
    text: str
    created: str


class Page(TypedDict):
    """A web page."""

    url: str
    text: str


class Receipt(TypedDict):
    """What an action has made."""

    id: str
    status: str
