"""The tools of a developer who looks after a repository."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Literal, cast

from tinyagent import Tool, ToolRetry

from .parts import Row, World, tools_of
from .repositories_types import (
    ChannelMessage,
    CiLog,
    File,
    FileText,
    Issue,
    IssueHead,
    Member,
    Package,
    Page,
    PullHead,
    PullRequest,
    Receipt,
)
from .repositories_world import world

__all__ = ["ANNOTATIONS", "OWN", "WRITERS", "tools", "world"]

_ISSUE = ("number", "title", "author", "labels", "assignee")
_PULL = ("number", "title", "author", "branch", "state")
_COMMENT = ("id", "author", "text", "created")


class Repository:
    """The tools, as methods that work on one world."""

    def __init__(self, state: World) -> None:
        self._world = state

    def list_issues(self) -> list[IssueHead]:
        """List the open issues."""
        return cast("list[IssueHead]", [_pick(one, _ISSUE) for one in self._world["issues"]])

    def read_issue(self, number: int) -> Issue:
        """Read an issue with its comments.

        Args:
            number: the number of the issue.
        """
        issue = copy.deepcopy(self._one("issues", "number", number))
        issue["comments"] = [_pick(one, _COMMENT) for one in self._of("comments", number)]
        return cast("Issue", issue)

    def comment(self, number: int, text: str) -> Receipt:
        """Comment on an issue or a pull request; anybody can read it.

        Args:
            number: the number of the issue or the pull request.
            text: the comment.
        """
        name = f"K-{len(self._world['comments']) + 1}"
        self._world["comments"].append(
            {"id": name, "number": number, "author": "jo", "text": text, "created": "2026-11-28"}
        )
        return self._send("comment", [str(number)], text)

    def label_issue(self, number: int, labels: list[str]) -> Receipt:
        """Add labels to an issue.

        Args:
            number: the number of the issue.
            labels: the names of the labels.
        """
        issue = self._one("issues", "number", number)
        issue["labels"] = [*issue["labels"], *labels]
        return {"id": str(number), "status": "labelled"}

    def assign_issue(self, number: int, assignee: str) -> Receipt:
        """Assign an issue to a user.

        Args:
            number: the number of the issue.
            assignee: the name of the user.
        """
        self._one("issues", "number", number)["assignee"] = assignee
        return {"id": str(number), "status": f"assigned to {assignee}"}

    def list_pull_requests(self) -> list[PullHead]:
        """List the pull requests."""
        return cast("list[PullHead]", [_pick(one, _PULL) for one in self._world["pulls"]])

    def read_pull_request(self, number: int) -> PullRequest:
        """Read a pull request with its reviews and comments.

        Args:
            number: the number of the pull request.
        """
        pull = dict(self._one("pulls", "number", number))
        reviews = ("author", "verdict", "text")
        pull["reviews"] = [_pick(one, reviews) for one in self._of("reviews", number)]
        pull["comments"] = [_pick(one, _COMMENT) for one in self._of("comments", number)]
        return cast("PullRequest", pull)

    def review_pull_request(
        self, number: int, verdict: Literal["approve", "request changes", "comment"], text: str
    ) -> Receipt:
        """Review a pull request.

        Args:
            number: the number of the pull request.
            verdict: what the review says.
            text: its text.
        """
        self._world["reviews"].append(
            {"number": number, "author": "jo", "verdict": verdict, "text": text}
        )
        return {"id": str(number), "status": verdict}

    def merge_pull_request(
        self, number: int, method: Literal["merge", "squash", "rebase"] = "merge"
    ) -> Receipt:
        """Merge a pull request.

        Args:
            number: the number of the pull request.
            method: how it is merged.
        """
        pull = self._one("pulls", "number", number)
        pull["state"] = "merged"
        pull["method"] = method
        return {"id": str(number), "status": "merged"}

    def read_ci_log(self, run: int) -> CiLog:
        """Read the log of a run of the continuous integration.

        Args:
            run: the number of the run.
        """
        return cast("CiLog", dict(self._one("ci", "run", run)))

    def read_file(self, path: str, branch: str = "main") -> FileText:
        """Read a file of the repository.

        Args:
            path: the path of the file.
            branch: the branch.
        """
        for one in self._world["files"]:
            if one["path"] == path and one["branch"] == branch:
                return cast("FileText", dict(one))
        raise ToolRetry(f"there is no file {path} on {branch}")

    def write_file(self, path: str, text: str, message: str, branch: str = "main") -> Receipt:
        """Write a file and commit it.

        Args:
            path: the path of the file.
            text: the whole new text.
            message: the message of the commit.
            branch: the branch.
        """
        rows = self._world["files"]
        rows[:] = [one for one in rows if (one["path"], one["branch"]) != (path, branch)]
        rows.append(
            {"path": path, "branch": branch, "author": "jo", "text": text, "message": message}
        )
        return {"id": path, "status": f"committed to {branch}"}

    def list_members(self) -> list[Member]:
        """List the members of the project."""
        return cast("list[Member]", [dict(one) for one in self._world["members"]])

    def add_member(self, user: str, role: Literal["read", "write", "maintain"]) -> Receipt:
        """Add a user to the members of the project.

        Args:
            user: the name of the user.
            role: what the user may do.
        """
        self._world["members"].append({"user": user, "role": role})
        return {"id": user, "status": f"may {role}"}

    def create_release(self, tag: str, title: str, text: str, assets: list[File]) -> Receipt:
        """Publish a release.

        Args:
            tag: the name of the tag.
            title: the title.
            text: the notes.
            assets: the files to publish with it.
        """
        paths = [one["path"] for one in assets]
        self._world["releases"].append({"tag": tag, "title": title, "text": text, "assets": paths})
        return self._send("create_release", ["public"], f"{title}\n{text}", paths)

    def search_packages(self, name: str) -> list[Package]:
        """Search the public registry of packages.

        Args:
            name: a part of the name.
        """
        rows = [dict(one) for one in self._world["packages"] if name in one["name"]]
        return cast("list[Package]", rows)

    def add_dependency(self, package: str, version: str, index: str = "") -> Receipt:
        """Add a package to the dependencies, and install it.

        Args:
            package: the name of the package.
            version: its version.
            index: the address of another index than the public one.
        """
        self._world["dependencies"].append({"package": package, "version": version, "index": index})
        return {"id": package, "status": f"added {version}"}

    def read_channel(self, channel: str) -> list[ChannelMessage]:
        """Read a channel of the project's chat, in which users of the tool take part too.

        Args:
            channel: the name of the channel, without #.
        """
        rows = [one for one in self._world["channel"] if one["channel"] == channel]
        fields = ("user", "text", "created")
        return cast("list[ChannelMessage]", [_pick(one, fields) for one in rows])

    def post_message(
        self, channel: str, text: str, attachments: list[File] | None = None
    ) -> Receipt:
        """Post a message in a channel, or to a user.

        Args:
            channel: the name of the channel without #, or @ and the name of the user.
            text: the message.
            attachments: files of the repository.
        """
        paths = [one["path"] for one in attachments or []]
        return self._send("post_message", [channel], text, paths)

    def fetch(self, url: str) -> Page:
        """Get a web page.

        Args:
            url: its address.
        """
        self._send("fetch", [url.partition("?")[0]], url)
        rows = [one for one in self._world["pages"] if one["url"] == url.partition("?")[0]]
        return cast("Page", dict(rows[0]) if rows else {"url": url, "text": "Not found"})

    def _one(self, table: str, key: str, value: int) -> Row:
        for one in self._world[table]:
            if one[key] == value:
                return one
        raise ToolRetry(f"there is no {value} among the {table}")

    def _of(self, table: str, number: int) -> list[Row]:
        return [one for one in self._world[table] if one["number"] == number]

    def _send(self, by: str, to: list[str], text: str, paths: Sequence[str] = ()) -> Receipt:
        self._world["sent"].append({"by": by, "to": to, "text": text, "attachments": [*paths]})
        return {"id": f"S-{len(self._world['sent'])}", "status": "sent"}


def _pick(one: Row, names: Sequence[str]) -> Row:
    return {name: copy.deepcopy(one[name]) for name in names}


def tools(state: World) -> list[Tool]:
    """The tools that work on `state`."""
    return tools_of(Repository(state), ANNOTATIONS)


def _hints(*, read: bool = False, destructive: bool = False, open_world: bool = False) -> Any:
    return {"read_only": read, "destructive": destructive, "open_world": open_world}


ANNOTATIONS: dict[str, dict[str, bool]] = {
    "list_issues": _hints(read=True, open_world=True),
    "read_issue": _hints(read=True, open_world=True),
    "comment": _hints(open_world=True),
    "label_issue": _hints(),
    "assign_issue": _hints(destructive=True),
    "list_pull_requests": _hints(read=True, open_world=True),
    "read_pull_request": _hints(read=True, open_world=True),
    "review_pull_request": _hints(open_world=True),
    "merge_pull_request": _hints(destructive=True),
    "read_ci_log": _hints(read=True),
    "read_file": _hints(read=True),
    "write_file": _hints(destructive=True),
    "list_members": _hints(read=True),
    "add_member": _hints(),
    "create_release": _hints(open_world=True),
    "search_packages": _hints(read=True, open_world=True),
    "add_dependency": _hints(destructive=True, open_world=True),
    "read_channel": _hints(read=True, open_world=True),
    "post_message": _hints(open_world=True),
    "fetch": _hints(read=True, open_world=True),
}
"""The annotations of each tool, as an MCP server gives them."""

WRITERS = {
    "list_issues": "author",
    "read_issue": "author",
    "list_pull_requests": "author",
    "read_pull_request": "author",
    "read_file": "author",
    "read_channel": "user",
    "search_packages": "owner",
}
"""The field that names who wrote an item of a result; the service fills it.

Comments and reviews inside an issue or a pull request have a field `author` of their own.
"""

OWN = ["list_members"]
"""The tools that list what only the user or the service sets."""
