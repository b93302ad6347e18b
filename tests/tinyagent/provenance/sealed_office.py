"""A mail agent whose code is sealed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypedDict

from tinyagent import RunResult, Sandbox, ScriptedModel, TinyCodeAgent, Tool
from tinyagent.provenance import Provenance, Sink

READ = "mail = read_mail()[0]"
COUNT = "def count(text, word):\n    return text.count(word)"
CANARY = "canary-4711-Zanzibar"
THIEF = "thief@evil.example"


class Mail(TypedDict):
    """A mail."""

    id: str
    sender: str
    text: str
    urgent: bool


class Person(TypedDict):
    """An entry of the address book."""

    name: str
    email: str


def mail(text: str = CANARY, sender: str = "anna@example.com", *, urgent: bool = False) -> Mail:
    """A mail that a stranger has written."""
    return {"id": "m-1", "sender": sender, "text": text, "urgent": urgent}


@dataclass
class SealedOffice:
    """Mails, an address book, and what was sent."""

    mails: list[Mail] = field(default_factory=lambda: [mail()])
    sent: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def tools(self) -> list[Tool]:
        """The tools of the agent."""

        def read_mail() -> list[Mail]:
            """Read all mails."""
            return self.mails

        def contacts() -> list[Person]:
            """Show the address book."""
            return [{"name": "Bob", "email": "bob@example.com"}]

        def send_mail(to: str, text: str, tag: str = "") -> str:
            """Send a mail."""
            self.sent.append({"to": to, "text": text, "tag": tag})
            return "sent"

        def look_up(what: str) -> dict[str, Any]:
            """Look something up."""
            return {"found": what}

        def broken(what: str) -> str:
            """Fail."""
            raise RuntimeError(f"{CANARY}: {what}")

        def bank() -> str:
            """Show the balance."""
            return "1234.56"

        functions = (read_mail, contacts, send_mail, look_up, broken, bank)
        return [Tool.from_function(each) for each in functions]

    def run(
        self,
        *blocks: str,
        guard: Provenance | None = None,
        middleware: tuple[Any, ...] = (),
        task: str = "Answer Anna",
        **options: Any,
    ) -> tuple[RunResult[Any], str]:
        """Run these blocks; returns the result, and all that the model was shown."""
        model = ScriptedModel([f"```python\n{block}\n```" for block in (*blocks, DONE)])
        agent = TinyCodeAgent(
            model,
            self.tools(),
            middleware=[guard or policy(), *middleware],
            sealed=True,
            max_steps=30,
            **{"sandbox": Sandbox("local")} | options,
        )
        result = agent.run_sync(task, return_result=True)
        return result, "\n".join(each.text for sent in model.requests for each in sent.messages)


DONE = "final_answer('done')"


def policy(**changes: Any) -> Provenance:
    """The policy of the agent."""
    given: dict[str, Any] = {
        "trusted": ["contacts", "host"],
        "private": {"bank": ["user"]},
        "free": ["read_mail", "contacts", "broken", "bank"],
        "sinks": {
            "send_mail": Sink(to=["user", "contacts.email"], text="readable", readers="to"),
            "look_up": Sink(what="any"),
        },
    }
    return Provenance(**given | changes)
