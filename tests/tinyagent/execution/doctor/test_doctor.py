"""The doctor: what it says of this machine, and that its probes can tell a broken promise."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tinyagent import Sandbox
from tinyagent.execution.advice import advise
from tinyagent.execution.doctor import examine as doctor
from tinyagent.execution.doctor.bench import (
    Bench,
    Canaries,
    Probe,
    ProbeFailed,
    ProbeResult,
    processes_called,
)
from tinyagent.execution.doctor.examine import Examination, ProbeVerdict, Trial, examine
from tinyagent.execution.doctor.network_probes import NETWORK_PROBES
from tinyagent.execution.doctor.probes import LOCAL_PROBES, PROBES
from tinyagent.execution.network.access import NetworkAccess
from tinyagent.execution.network.rules import HostPolicy
from tinyagent.execution.protocol import Guarantee
from tinyagent.execution.sandbox import starter
from tinyagent.execution.sandbox.demands import Demands
from tinyagent.execution.sandbox.engines import ENGINES
from tinyagent.execution.sandbox.engines.base import ENVIRONMENT, Engine
from tinyagent.execution.sandbox.engines.kernel import KernelEngine
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.execution.sandbox.templates import Spec, TemplateHandle
from tinyagent.execution.sandbox.worker.kernel import landlock, syscalls
from tinyagent.execution.trust import (
    NETWORK_PROMISES,
    TrustLevel,
    describe_guarantees,
    describe_local,
)

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs the kernel's locks")
EVERY_LOCK = {"namespaces": True, "landlock": 7, "seccomp": True, "forks": True, "preloaded": []}
NO_LOCK = frozenset({"namespaces", "landlock", "seccomp"})
SIGNALS = "no other process is signalled"
UNLOCKED = {
    "no host file but Python's": "open, list its folder, through /proc/self/root",
    "not even the names of host files": "stat, stat its folder, access",
    "nothing written outside the working folder": "make a file, make a folder, append, truncate",
    "no network": "TCP, UDP, Unix socket, abstract socket",
    "no other process is seen": "read /proc, process group, pidfd",
    SIGNALS: "signal 0, SIGTERM",
    "no privileges, no other kernel interfaces": "unshare",
    "none of the host's environment": "os.environ, getenv",
    "not the name of the host": "uname, gethostname",
    "memory limit": "as a stack, as memory that is then read only",
    NETWORK_PROMISES["N5"]: "TCP, UDP, ",
    "sessions are hidden from each other": "open its file, list folders, see its lock",
}


def tell_nobody(_: str) -> None:
    pass


@pytest.fixture
def canaries() -> Generator[Canaries]:
    with Canaries() as made:
        yield made


@pytest.fixture
def without_locks(monkeypatch: pytest.MonkeyPatch, canaries: Canaries) -> Generator[None]:
    """Sessions are ordinary processes: what the kernel would hold back succeeds."""
    monkeypatch.setitem(ENVIRONMENT, canaries.name, "known")
    made = TemplateHandle(Spec(KernelEngine(), (), NO_LOCK))
    monkeypatch.setattr(starter, "template_for", lambda *_: made)
    monkeypatch.setattr(starter, "running_template", lambda *_: made)
    monkeypatch.setattr(Demands, "lacking", lambda *_: "")
    yield
    made.close()


def bench(canaries: Canaries, level: TrustLevel = TrustLevel.ISOLATED) -> Bench:
    def open_executor(sandbox: Sandbox) -> ProcessExecutor:
        return ProcessExecutor(replace(sandbox, level=level, imports="*"))

    return Bench(level, None, canaries, open_executor)


@linux
@pytest.mark.parametrize("level", TrustLevel)
async def test_what_is_enforced_on_this_machine_holds(
    level: TrustLevel, canaries: Canaries
) -> None:
    engine = "kernel" if level is TrustLevel.SANDBOXED else None
    report = await examine(level, engine, canaries, tell_nobody)
    if level is TrustLevel.SANDBOXED and report.unavailable:
        pytest.skip(report.unavailable)
    broken = [t for t in report.trials if t.verdict in {ProbeVerdict.BROKEN, ProbeVerdict.UNTRIED}]
    assert (broken, report.is_sound) == ([], True)
    assert any(trial.verdict is ProbeVerdict.HELD for trial in report.trials)
    networks = [trial for trial in report.trials if trial.guarantee.id in NETWORK_PROMISES]
    assert len(networks) == (0 if level is TrustLevel.LOCAL else len(NETWORK_PROMISES))


def test_each_promise_has_a_probe_and_each_probe_a_promise() -> None:
    promised = describe_guarantees("kernel", EVERY_LOCK, 8)
    assert all(guarantee.enforced for guarantee in promised)
    assert {guarantee.promise for guarantee in promised} == set(PROBES)
    assert set(NETWORK_PROMISES.values()) == set(NETWORK_PROBES)
    local = {g.promise for g in describe_local(8) if g.enforced}
    assert local == set(LOCAL_PROBES)


@linux
@pytest.mark.usefixtures("without_locks")
@pytest.mark.parametrize("promise", UNLOCKED)
async def test_a_probe_succeeds_where_there_is_no_lock(promise: str, canaries: Canaries) -> None:
    finding = await {**PROBES, **NETWORK_PROBES}[promise](bench(canaries))
    if promise == SIGNALS and await _user_of_code(bench(canaries)) != os.geteuid():
        assert finding.held  # the code of root runs as nobody, if nobody can read this Python
        return
    assert not finding.held
    assert finding.tried.startswith(f"went through: {UNLOCKED[promise]}")


@linux
async def test_a_list_that_is_not_kept_to_is_noticed(
    canaries: Canaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HostPolicy, "refuse", lambda *_: "")
    finding = await NETWORK_PROBES[NETWORK_PROMISES["N1"]](bench(canaries))
    assert not finding.held
    assert finding.tried.startswith("went through: another method, another path, a path out of")


@linux
async def test_a_key_that_gets_in_is_noticed(
    canaries: Canaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_keys(access: NetworkAccess) -> dict[str, Any]:
        keys = {secret.env: os.environ[secret.env] for secret in access.secrets.values()}
        return order(access) | {"variables": keys}

    order = NetworkAccess.order
    monkeypatch.setattr(NetworkAccess, "order", with_keys)
    finding = await NETWORK_PROBES[NETWORK_PROMISES["N3"]](bench(canaries))
    assert not finding.held
    assert finding.tried.startswith("went through: os.environ")


async def _user_of_code(bench: Bench) -> int:
    (result,) = await bench.steps("import os\nos.geteuid()")
    return int(result.value)


@linux
@pytest.mark.usefixtures("without_locks")
async def test_a_program_that_is_started_is_noticed(canaries: Canaries) -> None:
    with pytest.raises(
        ProbeFailed, match="ended before the code did"
    ):  # the last try replaces the process
        await PROBES["no other program is started"](bench(canaries))


@pytest.mark.parametrize(
    ("enforced", "probe", "verdict"),
    [
        (False, ProbeResult(held=False, tried="it"), ProbeVerdict.NOT_PROMISED),
        (True, ProbeResult(held=True, tried="it"), ProbeVerdict.HELD),
        (True, ProbeResult(held=False, tried="it"), ProbeVerdict.BROKEN),
        (True, ProbeFailed("it"), ProbeVerdict.UNTRIED),
        (True, None, ProbeVerdict.UNTRIED),
    ],
)
async def test_the_verdict_follows_from_the_probe(
    *,
    enforced: bool,
    probe: ProbeResult | ProbeFailed | None,
    verdict: ProbeVerdict,
    canaries: Canaries,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def tried(_: Bench) -> ProbeResult:
        if isinstance(probe, ProbeResult):
            return probe
        raise probe or AssertionError

    probes: Mapping[str, Probe] = {} if probe is None else {"a promise": tried}
    monkeypatch.setattr(doctor, "PROBES", probes)
    monkeypatch.setattr(
        ProcessExecutor, "guarantees", [Guarantee("a promise", enforced=enforced, by="a lock")]
    )
    report = await examine(TrustLevel.ISOLATED, None, canaries, tell_nobody)
    (trial,) = report.trials
    assert trial.verdict is verdict
    assert report.is_sound is (verdict in {ProbeVerdict.HELD, ProbeVerdict.NOT_PROMISED})
    said: dict[str, Any] = doctor.as_json(report)
    assert said["sound"] is report.is_sound
    assert said["promises"][0]["verdict"] == verdict


@dataclass(frozen=True)
class NotInstalled(KernelEngine):
    def missing(self) -> str:
        return "install it"


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch) -> Engine:
    engine = NotInstalled("bubblewrap")
    monkeypatch.setitem(ENGINES, engine.name, engine)
    return engine


async def test_a_missing_engine_is_reported_with_the_fix(
    not_installed: Engine, canaries: Canaries
) -> None:
    report = await examine(TrustLevel.SANDBOXED, not_installed.name, canaries, tell_nobody)
    assert "install it" in report.unavailable
    assert (report.trials, report.is_sound) == ((), True)
    assert f"{not_installed.name}: install it" in advise([report])


async def test_every_level_and_engine_is_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(level: TrustLevel, engine: str | None, *_: object) -> Examination:
        return Examination(level, engine)

    monkeypatch.setattr(doctor, "examine", at_once)
    report = await doctor.examine_all(tell_nobody)
    sandboxed = [("sandboxed", name) for name in ENGINES]
    assert [(x.trust_level, x.engine) for x in report] == [
        ("local", None),
        ("isolated", None),
        *sandboxed,
    ]


def isolated(*, namespaces: bool) -> Examination:
    guarantee = Guarantee("not even the names of host files", enforced=namespaces, by="-")
    return Examination(TrustLevel.ISOLATED, None, (Trial(guarantee, ProbeVerdict.HELD, ""),))


def setting(folder: Path, name: str, value: str) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{value}\n")


@pytest.fixture
def newest(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """A Linux whose Landlock has the version that is given."""
    monkeypatch.setattr(sys, "platform", "linux")
    return lambda version: monkeypatch.setattr(landlock, "abi", lambda: version)


def test_where_nothing_is_missing_there_is_no_advice(newest: Callable[[int], None]) -> None:
    newest(7)
    assert advise([isolated(namespaces=True)]) == []


@pytest.mark.parametrize(("version", "words"), [(0, "Linux 5.13"), (5, "Linux 6.12")])
def test_an_old_kernel_is_reported_with_what_a_newer_one_offers(
    version: int, words: str, newest: Callable[[int], None]
) -> None:
    newest(version)
    (line,) = advise([isolated(namespaces=True)])
    assert words in line


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "an AppArmor profile"),
        ("kernel/unprivileged_userns_clone", "1", "in a container"),
    ],
)
def test_what_forbids_user_namespaces_is_named(
    name: str, value: str, words: str, tmp_path: Path, newest: Callable[[int], None]
) -> None:
    newest(7)
    setting(tmp_path, name, value)
    (line,) = advise([isolated(namespaces=False)], tmp_path)
    assert line.startswith("user namespaces: ")
    assert words in line


def test_an_unknown_machine_is_reported(
    newest: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown() -> syscalls.Machine:
        raise OSError

    newest(7)
    monkeypatch.setattr(syscalls, "machine", unknown)
    (line,) = advise([isolated(namespaces=True)])
    assert "x86_64 and aarch64" in line


def test_on_other_systems_the_advice_is_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "Linux container" in advise([])[0]


def test_canaries_notice_who_touches_them(canaries: Canaries) -> None:
    assert canaries.harm() == []
    canaries.file.write_text("changed")
    assert canaries.harm() == ["files were changed"]
    assert (canaries.harm(), canaries.file.read_text()) == ([], canaries.secret)


def test_a_process_is_found_by_its_name() -> None:
    name = Path("/proc/self/comm")
    if not name.exists():
        pytest.skip("needs /proc")
    assert processes_called(name.read_text().strip())
    assert processes_called("nobody is called so") == []
