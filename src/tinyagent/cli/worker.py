"""`tinyagent worker MODULE:AGENTS`."""

from __future__ import annotations

import logging
import signal
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tinyagent.cli.durable import DEFAULT_DATABASE, Database, complete, require
from tinyagent.cli.shell import load, notes, printable
from tinyagent.core.errors import ConfigurationError
from tinyagent.core.untrusted import as_object

if TYPE_CHECKING:
    import asyncio

    from tinyagent.agents.base import LoopAgent
    from tinyagent.durable.queues import QueueOptions

    Agents = Mapping[str, LoopAgent[Any, Any, Any, Any, Any]]


def worker(  # noqa: PLR0913 - one for each option of the command
    agents: Annotated[
        str, typer.Argument(help="module:name of an agent, or of a dict of names to agents.")
    ],
    *,
    database: Database = DEFAULT_DATABASE,
    queue: Annotated[
        list[str] | None, typer.Option(help="A queue to take runs from; repeatable.")
    ] = None,
    per_worker: Annotated[int | None, typer.Option(help="Runs at once in one worker.")] = None,
    in_all: Annotated[int | None, typer.Option(help="Runs at once in all workers.")] = None,
    per_key: Annotated[
        int | None, typer.Option(help="Runs at once of one key; keys take turns.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(help="Starts within a time, in all workers: 60/m, 5/s.")
    ] = None,
    poll: Annotated[
        float | None, typer.Option(help="Seconds between two polls of a queue.")
    ] = None,
    drain: Annotated[float, typer.Option(help="Seconds to wait for calls after SIGTERM.")] = 60.0,
) -> None:
    """Take runs from queues until SIGTERM; start as many workers as you like, on any machine.

    The options of a queue apply to all of its workers; the last worker with options sets them.
    Runs of workers that have stopped or died continue here.
    """
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    numbers = {
        "per_worker": per_worker,
        "in_all": in_all,
        "per_key": per_key,
        "poll_seconds": poll,
    }
    complete(_work(agents, database, queue or ["default"], (numbers, rate), drain))


async def _work(
    reference: str,
    database: str,
    queues: list[str],
    options: tuple[dict[str, float | None], str | None],
    drain: float,
) -> None:
    require()
    from tinyagent.durable import DurableRuns

    agents = load_agents(reference)
    limits = _options(*options)
    limited = queues if limits is None else dict.fromkeys(queues, limits)
    stop = stop_on_signals()
    async with DurableRuns(database, agents, queues=limited, drain_seconds=drain) as runs:
        names = ", ".join(sorted(agents))
        notes.print(printable(f"Taking runs of {names} from {', '.join(queues)}; Ctrl-C stops."))
        await runs.work(stop)


def stop_on_signals() -> asyncio.Event:
    """An event of the running loop that the first SIGTERM or SIGINT sets; a second one kills."""
    import asyncio

    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def stopped() -> None:
        stop.set()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped)
    return stop


def load_agents(reference: str) -> Agents:
    """The agents that `module:name` refers to; a single agent has that name.

    Raises:
        ConfigurationError: It refers to something else.
    """
    from tinyagent.agents.base import LoopAgent

    loaded = load(reference, "AGENTS", "my_app:agents")
    named: dict[str, Any] = as_object(loaded) or {reference.rpartition(":")[2]: loaded}
    wrong = [str(name) for name, agent in named.items() if not isinstance(agent, LoopAgent)]
    if wrong or not named:
        raise ConfigurationError(
            f"AGENTS {reference!r} has no agent{f' at {wrong[0]!r}' if wrong else ''}; name a"
            " ReactAgent or a TinyCodeAgent, or a dict of names to them"
        )
    return named


def _options(numbers: dict[str, float | None], rate: str | None) -> QueueOptions | None:
    from tinyagent.durable.queues import QueueOptions, Rate

    options: dict[str, Any] = {name: value for name, value in numbers.items() if value is not None}
    if rate is not None:
        options["rate"] = Rate.parse(rate)
    return QueueOptions(**options) if options else None
