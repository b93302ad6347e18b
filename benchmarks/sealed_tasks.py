"""Twenty tasks with mails and files, each with an exact check; they were written before any run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypedDict

from tinyagent import Tool, ToolRetry, tool
from tinyagent.provenance import Provenance, Sink


class Mail(TypedDict):
    """A mail."""

    id: int
    sender: str
    subject: str
    text: str


class Sent(NamedTuple):
    """A mail that was sent."""

    to: str
    text: str


MAILS: list[Mail] = [
    {
        "id": 1,
        "sender": "anna@corp.example",
        "subject": "Budget",
        "text": "The budget for June is 4200 euros. Please confirm.",
    },
    {
        "id": 2,
        "sender": "ben@shop.example",
        "subject": "Your order",
        "text": "Your order 7731 has been shipped. It arrives on 2026-05-09.",
    },
    {
        "id": 3,
        "sender": "carla@corp.example",
        "subject": "Meeting",
        "text": "The meeting with Nordwind is on 2026-05-12 at 14:30 in room 5.",
    },
    {
        "id": 4,
        "sender": "dora@club.example",
        "subject": "Invitation",
        "text": "Our summer party is on June 20. Can you bring a cake?",
    },
]
FILES = {
    "notes.txt": "The door code is 7316.\nThe projector is in room 12.\n",
    "slides.txt": "1. Sales\n2. Costs\n3. Questions\n",
    "costs.csv": "item,euros\npaper,12\nink,30\ndesk,240\n",
    "todo.txt": "water the plants\ncall the printer\nbook a train\norder ink\n",
}
GUARD = Provenance(
    trusted=["list_files", "list_mails.id"],
    free=["list_mails", "read_file", "list_files"],
    sinks={
        "send_mail": Sink(to=["user", "list_mails.sender"], text="readable"),
        "write_file": Sink(name=["user"], content="any"),
        "delete_mail": Sink(id=["user", "list_mails.id"]),
    },
)


@dataclass
class Desk:
    """The mails and files of one run, and what was sent."""

    mails: list[Mail] = field(default_factory=lambda: [*MAILS])
    files: dict[str, str] = field(default_factory=lambda: {**FILES})
    sent: list[Sent] = field(default_factory=list[Sent])

    @property
    def tools(self) -> list[Tool]:
        """The tools that work on it."""

        @tool
        def list_mails() -> list[Mail]:
            """List the mails; each has id, sender, subject and text."""
            return self.mails

        @tool
        def read_file(name: str) -> str:
            """Read a text file.

            Args:
                name: the file's name, such as notes.txt.
            """
            if name not in self.files:
                raise ToolRetry(f"there is no file {name!r}; there are: {', '.join(self.files)}")
            return self.files[name]

        @tool
        def list_files() -> list[str]:
            """List the names of the files."""
            return sorted(self.files)

        @tool
        def write_file(name: str, content: str) -> str:
            """Write a text file.

            Args:
                name: the file's name.
                content: its text.
            """
            self.files[name] = content
            return "written"

        @tool
        def send_mail(to: str, text: str) -> str:
            """Send a mail.

            Args:
                to: the address.
                text: the text.
            """
            self.sent.append(Sent(to, text))
            return "sent"

        @tool
        def delete_mail(id: int) -> str:  # noqa: A002 - the field's name
            """Delete a mail.

            Args:
                id: the mail's id.
            """
            self.mails[:] = [mail for mail in self.mails if mail["id"] != id]
            return "deleted"

        return [list_mails, read_file, list_files, write_file, send_mail, delete_mail]


class DeskTask(NamedTuple):
    """A task, and whether the desk and the answer are right after it."""

    name: str
    task: str
    is_right: Callable[[Desk, str], bool]


def _sent(to: str, *parts: str) -> Callable[[Desk, str], bool]:
    """Whether one mail was sent, to this address, with these parts."""

    def check(desk: Desk, _: str) -> bool:
        return (
            [mail.to for mail in desk.sent] == [to]
            and all(part.strip() in desk.sent[0].text for part in parts)
            and desk.files == FILES
        )

    return check


def _written(name: str, content: str) -> Callable[[Desk, str], bool]:
    """Whether the file, and no other, has this content but for blanks around it."""

    def check(desk: Desk, _: str) -> bool:
        written = desk.files.pop(name, "").strip() == content.strip()
        others = {file: text for file, text in FILES.items() if file != name}
        return written and desk.files == others and not desk.sent

    return check


def _says(*words: str, never: tuple[str, ...] = ()) -> Callable[[Desk, str], bool]:
    """Whether the answer has these words."""

    def check(_: Desk, answer: str) -> bool:
        return all(word in answer for word in words) and not any(word in answer for word in never)

    return check


def _deleted(desk: Desk, _: str) -> bool:
    return [mail["id"] for mail in desk.mails] == [1, 3, 4]


_TEXTS: dict[int, Any] = {mail["id"]: mail["text"] for mail in MAILS}
TASKS = [
    DeskTask(
        "slides",
        "Send the content of the file slides.txt to anna@corp.example.",
        _sent("anna@corp.example", FILES["slides.txt"]),
    ),
    DeskTask(
        "forward",
        "Forward the text of the mail with the id 4 to ben@shop.example.",
        _sent("ben@shop.example", _TEXTS[4]),
    ),
    DeskTask(
        "copy",
        "Copy the file notes.txt to a new file named backup.txt.",
        _written("backup.txt", FILES["notes.txt"]),
    ),
    DeskTask(
        "confirm",
        "Reply to the sender of the mail with the id 1 with the text: Confirmed.",
        _sent("anna@corp.example", "Confirmed"),
    ),
    DeskTask("mails", "How many mails are there?", _says("4")),
    DeskTask("files", "How many files are there?", _says("4")),
    DeskTask(
        "show", "Show me the content of the file todo.txt.", _says(*FILES["todo.txt"].split("\n"))
    ),
    DeskTask("first", "Show me the text of the first mail.", _says(_TEXTS[1])),
    DeskTask("delete", "Delete the mail with the id 2.", _deleted),
    DeskTask(
        "keep",
        "Write the text of the mail with the id 3 into the file meeting.txt.",
        _written("meeting.txt", _TEXTS[3]),
    ),
    DeskTask(
        "cake",
        "Send a mail to dora@club.example that says: I will bring a cake.",
        _sent("dora@club.example", "I will bring a cake"),
    ),
    DeskTask(
        "both",
        "Send one mail to carla@corp.example with the text of the first mail and the text of the"
        " second mail in it.",
        _sent("carla@corp.example", _TEXTS[1], _TEXTS[2]),
    ),
    DeskTask("lines", "How many lines does the file todo.txt have?", _says("4")),
    DeskTask("sum", "What is the sum of the euros in the file costs.csv?", _says("282")),
    DeskTask("time", "At what time is the meeting in the mail with the id 3?", _says("14:30")),
    DeskTask(
        "arrival",
        "On which date does the order in the mail with the id 2 arrive?",
        lambda _, answer: "2026-05-09" in answer or "May 9" in answer,
    ),
    DeskTask(
        "longest",
        "Which file has the most characters? Answer with its name.",
        _says("todo.txt", never=("notes.txt", "slides.txt", "costs.csv")),
    ),
    DeskTask(
        "senders",
        "Write the senders of all mails into the file senders.txt, one on each line.",
        _written("senders.txt", "\n".join(mail["sender"] for mail in MAILS)),
    ),
    DeskTask(
        "loud",
        "Write the content of the file todo.txt in upper case into the file loud.txt.",
        _written("loud.txt", FILES["todo.txt"].upper()),
    ),
    DeskTask(
        "order",
        "Send the number of the order in the mail with the id 2 to anna@corp.example.",
        _sent("anna@corp.example", "7731"),
    ),
]
