"""The doctor: tests on this machine what each trust level promises."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from tinyagent.core.errors import ConfigurationError, SandboxUnavailable
from tinyagent.execution.definition import Sandbox
from tinyagent.execution.doctor.bench import Bench, Canaries, Probe, ProbeFailed
from tinyagent.execution.doctor.network_probes import NETWORK_PROBES
from tinyagent.execution.doctor.probes import LOCAL_PROBES, NEEDED_IMPORTS, PROBES
from tinyagent.execution.protocol import Executor, Guarantee
from tinyagent.execution.sandbox.engines import ENGINES
from tinyagent.execution.sandbox.executor import get_executor
from tinyagent.execution.trust import (
    NETWORK_PROMISES,
    TrustLevel,
    describe_network,
)

_TRIES = 2  # a probe that does not finish shows nothing: under load, a session may be lost


class ProbeVerdict(StrEnum):
    """The outcome of a probe."""

    HELD = "held"
    BROKEN = "NOT HELD"
    UNTRIED = "NOT TRIED"
    NOT_PROMISED = "not promised here"


@dataclass(frozen=True, slots=True)
class Trial:
    """A promise, what enforces it here, and the outcome of its probe."""

    guarantee: Guarantee
    verdict: ProbeVerdict
    tried: str


@dataclass(frozen=True, slots=True)
class Examination:
    """A trust level by one engine; `unavailable` says why it cannot run here, if it cannot."""

    trust_level: TrustLevel
    engine: str | None
    trials: tuple[Trial, ...] = ()
    unavailable: str = ""

    @property
    def failed(self) -> tuple[Trial, ...]:
        """The promises that are enforced here, but do not hold or could not be tested."""
        bad = {ProbeVerdict.BROKEN, ProbeVerdict.UNTRIED}
        return tuple(trial for trial in self.trials if trial.verdict in bad)

    @property
    def is_sound(self) -> bool:
        """Whether everything that is enforced here holds."""
        return not self.failed

    def enforces(self, promise: str) -> bool:
        """Whether a promise is enforced, according to the level itself."""
        return any(
            trial.guarantee.promise == promise and trial.guarantee.enforced for trial in self.trials
        )


Report = Callable[[str], None]


async def examine_all(report: Report) -> list[Examination]:
    """Test every level and engine; `report` is called with what is tested at the moment.

    All are tested at the same time, because tests mostly wait: for code to reach its time limit,
    for containers to start. Environment variables of the canaries are set meanwhile.
    """
    with ExitStack() as stack:
        tried = [
            examine(level, engine, stack.enter_context(Canaries()), report)
            for level, engine in levels_and_engines()
        ]
        return await asyncio.gather(*tried)


def levels_and_engines() -> Iterator[tuple[TrustLevel, str | None]]:
    """The levels and engines to examine, weakest first."""
    yield TrustLevel.LOCAL, None
    yield TrustLevel.ISOLATED, None
    for name in ENGINES:
        yield TrustLevel.SANDBOXED, name


async def examine(
    level: TrustLevel, engine: str | None, canaries: Canaries, report: Report
) -> Examination:
    """Test each promise of one level, each in a fresh session."""

    def open_executor(sandbox: Sandbox) -> Executor:
        # Behind locks, the list of imports is not what is tested.
        imports = NEEDED_IMPORTS if level is TrustLevel.LOCAL else ("*",)
        return get_executor(replace(sandbox, level=level, imports=imports, engine=engine))

    bench = Bench(level, engine, canaries, open_executor)
    report(_name(level, engine))
    try:
        async with AsyncExitStack() as stack:
            executor = await stack.enter_async_context(open_executor(Sandbox()))
            guarantees = tuple(executor.guarantees)
    except SandboxUnavailable as error:
        return Examination(level, engine, unavailable=str(error))
    if level is not TrustLevel.LOCAL:
        guarantees += await _of_a_network(bench)
    trials: list[Trial] = []
    for guarantee in guarantees:
        report(f"{_name(level, engine)}: {guarantee.promise}")
        trials.append(await _try(guarantee, bench))
    return Examination(level, engine, tuple(trials))


async def _of_a_network(bench: Bench) -> tuple[Guarantee, ...]:
    """The promises of a session with a network, and whether there can be one here."""
    try:
        async with bench.open(Sandbox(network=["localhost"])) as executor:
            return tuple(each for each in executor.guarantees if each.id in NETWORK_PROMISES)
    except (ConfigurationError, SandboxUnavailable) as error:
        return describe_network(str(error))


async def _try(guarantee: Guarantee, bench: Bench) -> Trial:
    if not guarantee.enforced:
        return Trial(guarantee, ProbeVerdict.NOT_PROMISED, "")
    probe = probe_for(guarantee, bench.trust_level)
    if probe is None:
        return Trial(guarantee, ProbeVerdict.UNTRIED, "no probe tests it")
    reason = ""
    for _ in range(_TRIES):
        try:
            held, tried = await probe(bench)
        except (ProbeFailed, SandboxUnavailable) as fault:
            reason = str(fault)
        else:
            return Trial(guarantee, ProbeVerdict.HELD if held else ProbeVerdict.BROKEN, tried)
    return Trial(guarantee, ProbeVerdict.UNTRIED, reason)


def probe_for(guarantee: Guarantee, level: TrustLevel) -> Probe | None:
    """The probe of this promise at this level."""
    probes = LOCAL_PROBES if level is TrustLevel.LOCAL else {**PROBES, **NETWORK_PROBES}
    return probes.get(guarantee.promise)


def _name(level: TrustLevel, engine: str | None) -> str:
    return f"{level} by {engine}" if engine else str(level)


def as_json(examination: Examination) -> dict[str, Any]:
    """The examination for machines."""
    return {
        "trust_level": str(examination.trust_level),
        "engine": examination.engine,
        "unavailable": examination.unavailable or None,
        "sound": examination.is_sound,
        "promises": [
            {
                "id": trial.guarantee.id or None,
                "promise": trial.guarantee.promise,
                "enforced": trial.guarantee.enforced,
                "by": trial.guarantee.by,
                "verdict": str(trial.verdict),
                "tried": trial.tried,
            }
            for trial in examination.trials
        ],
    }
