"""A sealed code agent whose run is durable."""

from __future__ import annotations

from pathlib import Path

from tests.support.durable_runs import blocks, empty_database, opened
from tests.tinyagent.provenance.sealed_office import CANARY, SealedOffice, policy

from tinyagent import TinyCodeAgent, Tool


def wait() -> str:
    """Wait for a yes."""
    return "go on"


async def test_placeholders_of_a_suspended_run_are_opened_when_it_goes_on(tmp_path: Path) -> None:
    office = SealedOffice()
    model = blocks(
        "mail = read_mail()[0]\nprint(mail)",
        "wait()",
        "send_mail(to='anna@example.com', text=mail['text'])\nfinal_answer('done')",
    )
    agent = TinyCodeAgent(
        model,
        [*office.tools(), Tool.from_function(wait, requires_approval=True)],
        middleware=[policy(free=["read_mail", "contacts", "wait"])],
        sealed=True,
    )
    database = empty_database(tmp_path)
    async with opened(database, {"agent": agent}) as runs:
        task = "Send the mail to anna@example.com"
        assert (await runs.run("agent", task, run_id="run")).state == "waiting"
    assert office.sent == []
    async with opened(database, {"agent": agent}) as runs:
        await runs.approve("run")
        assert (await runs.wait("run", timeout=60)).output == "done"
    assert office.sent == [{"to": "anna@example.com", "text": CANARY, "tag": ""}]
    shown = "\n".join(each.text for sent in model.requests for each in sent.messages)
    assert "<sealed str from read_mail.text>" in shown
    assert CANARY not in shown
