"""The engines to try, and the host's handles of the template processes that they start."""

from __future__ import annotations

import atexit
import itertools
import os
import re
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any

from tinyagent.core.errors import ConfigurationError, SandboxUnavailable
from tinyagent.execution.sandbox.engines import ENGINES
from tinyagent.execution.sandbox.engines.base import Engine, last_words
from tinyagent.execution.sandbox.engines.kernel import KernelEngine, PlainEngine
from tinyagent.execution.sandbox.host_folders import HostFolder, Offer
from tinyagent.execution.sandbox.worker.codec.wire import Frame, FrameReader, Kind, pack
from tinyagent.execution.sandbox.worker.folders import remove_folder
from tinyagent.execution.trust import TrustLevel

ALWAYS = (
    "ast", "base64", "bisect", "calendar", "collections.abc", "copy", "csv", "dataclasses",
    "datetime", "decimal", "enum", "fractions", "functools", "hashlib", "heapq", "io", "itertools",
    "json", "math", "operator", "os.path", "pathlib", "pprint", "random", "re", "statistics",
    "string", "struct", "tempfile", "textwrap", "threading", "time", "traceback", "typing",
    "unicodedata", "uuid", "zoneinfo",
)  # fmt: skip
_DATA = ("numpy", "pandas")
_WANTS_DATA = re.compile(
    r"^[ \t]*+(?:import|from)[ \t]++(?:numpy|pandas|matplotlib)\b", re.MULTILINE
)


def modules_for(
    extra_imports: Iterable[str], first_code: str, *, packages: bool = False
) -> tuple[str, ...]:
    """The modules to load before the fork: NumPy and pandas only if they will be used.

    Args:
        extra_imports: Modules that the caller allows by name.
        first_code: The session's first step; what a later step imports is loaded then.
        packages: Whether the session has packages of its own. Their code runs in sessions only,
            behind the locks, so the template loads none of it.
    """
    extra = tuple(sorted({name for name in extra_imports if name != "*"}))
    if packages:
        own = (name for name in extra if name.partition(".")[0] in sys.stdlib_module_names)
        return (*ALWAYS, *own)
    data = _DATA if _WANTS_DATA.search(first_code) or set(_DATA) & set(extra) else ()
    return (*ALWAYS, *data, *(name for name in extra if name not in data))


def engines_for(trust_level: TrustLevel, name: str | None) -> tuple[Engine, ...]:
    """The engines to try.

    Raises:
        ConfigurationError: No engine has this name.
    """
    if trust_level is TrustLevel.LOCAL:
        return (PlainEngine(),)
    if name is not None:
        if name not in ENGINES:
            raise ConfigurationError(
                f"engine {name!r} does not exist; use one of: {', '.join(ENGINES)}"
            )
        return (ENGINES[name],)
    if trust_level is TrustLevel.ISOLATED:
        return (KernelEngine(),)
    return tuple(ENGINES.values())


_START_SECONDS = 60.0
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Spec:
    """The properties of a template; sessions with the same spec share one.

    Args:
        engine: What starts it.
        preload: Modules that it imports before it forks sessions.
        without: Locks that are not used (`"namespaces"`, `"landlock"`, `"seccomp"`), for kernels
            that lack them.
        keeper: Whether its sessions may get folders of the host.
        packages: A folder of packages, in place of those that are installed on the host.
        network: Whether its sessions have a network of their own.
    """

    engine: Engine
    preload: tuple[str, ...]
    without: frozenset[str] = frozenset()
    keeper: bool = False
    packages: str = ""
    network: bool = False


class TemplateHandle:
    """A running template process.

    Raises:
        SandboxUnavailable: It does not start.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._process, self._control = spec.engine.start(spec.packages)
        self.report: dict[str, Any] = {}
        try:
            self.report = self._first_report(spec)
        except BaseException:
            self._control.close()
            raise

    def spawn(
        self, order: dict[str, Any], folders: Sequence[HostFolder] = ()
    ) -> tuple[int, socket.socket]:
        """Start a session; returns its number and the host's end of its socket.

        Args:
            order: Its limits and imports.
            folders: Of the host, which it sees; only if `Spec.keeper` says so, at most three.

        Raises:
            OSError: The template is gone, or a folder cannot be mounted.
        """
        ours, theirs = socket.socketpair()
        number = next(self._ids)
        try:
            with theirs, closing(Offer(folders, self._process.pid)) as offer:
                body = {**order, "id": number, "folders": offer.requests}
                self._send(body, [theirs.fileno(), *offer.descriptors])
        except OSError:
            ours.close()
            raise
        ours.setblocking(False)  # noqa: FBT003 - the socket module's own signature
        return number, ours

    def kill(self, number: int) -> None:
        """End a session with all its processes, if it has not ended."""
        with suppress(OSError):  # the template is gone, and with it the session
            self._send({"kill": number})

    def pause(self, number: int, *, stop: bool) -> None:
        """Stop a session of one process or let it continue, if it has not ended."""
        with suppress(OSError):  # as above
            self._send({"pause": number, "stop": stop})

    @property
    def is_alive(self) -> bool:
        """Whether it still serves."""
        if self._control.fileno() < 0 or self._process.poll() is not None:
            return False
        hung_up = select.poll()  # an engine's process may end later than the template inside
        hung_up.register(self._control, 0)
        return not hung_up.poll(0)

    def close(self) -> None:
        """End it, and all its sessions."""
        self._control.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()
        if self.report.get("folder"):  # a template that was killed has left it
            remove_folder(self.report["folder"])

    def forget(self) -> None:
        """In a fork of the host: close it without ending the template."""
        self._control.close()
        self._process.returncode = 0  # not this process's child

    def _send(self, body: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        data = pack(Frame(Kind.ORDER, body))
        with self._lock:
            sent = 0
            if descriptors:
                sent = socket.send_fds(self._control, [data], descriptors)
            self._control.sendall(data[sent:])

    def _first_report(self, spec: Spec) -> dict[str, Any]:
        order = {
            "locks": spec.engine.locks,
            "preload": spec.preload,
            "without": sorted(spec.without),
            "packages": spec.packages,
            "network": spec.network,
            "keeper": spec.keeper and os.geteuid() != 0,
            "path": [os.path.abspath(place) for place in sys.path],  # noqa: PTH100 - also of ""
        }
        self._control.settimeout(_START_SECONDS)
        frames: list[Frame] = []
        reader = FrameReader()
        try:
            self._send(order)
            while not frames and (data := self._control.recv(_CHUNK)):
                frames = reader.feed(data)
        except OSError:  # too late, or it has ended already
            pass
        self._control.settimeout(None)
        if frames and frames[0].kind is Kind.REPORT:
            return frames[0].body
        self._control.close()
        reason = frames[0].body["error"] if frames else last_words(self._process)
        self.close()
        raise SandboxUnavailable(
            f"the sandbox's {spec.engine.name} engine does not start: {reason}"
        )


_templates: dict[Spec, TemplateHandle] = {}
"""The running templates, by what was asked for: they may lack what the kernel refuses."""
_starting = threading.Lock()


def running_template(spec: Spec) -> TemplateHandle | None:
    """The template of this kind, if it runs already."""
    template = _templates.get(spec)
    return template if template is not None and template.is_alive else None


def template_for(spec: Spec) -> TemplateHandle:
    """The running template of this kind; starts it if needed (0.1 s; 0.5 s with pandas).

    If the kernel refuses namespaces, the template has none, and its report says so.

    Raises:
        SandboxUnavailable: It does not start.
    """
    with _starting:
        template = _templates.get(spec)
        if template is not None and template.is_alive:
            return template
        without = frozenset[str]()
        if template is not None:
            without = template.spec.without
            template.close()
        try:
            template = TemplateHandle(replace(spec, without=without))
        except SandboxUnavailable:
            if without or not spec.engine.locks:
                raise
            template = TemplateHandle(replace(spec, without=frozenset({"namespaces"})))
        _templates[spec] = template
        return template


def close_templates() -> None:
    """End all templates, with all their sessions."""
    with _starting:
        while _templates:
            _templates.popitem()[1].close()


def _forget_templates() -> None:
    """A fork of the host starts its own templates: two hosts must not share one."""
    global _starting  # noqa: PLW0603 - another thread of the parent may have held it
    _starting = threading.Lock()
    while _templates:
        _templates.popitem()[1].forget()


atexit.register(close_templates)
if hasattr(os, "register_at_fork"):  # where there are forks
    os.register_at_fork(after_in_child=_forget_templates)
