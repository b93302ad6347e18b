"""LocalExecutor: code that would be run anyway, in this process, guarded against accidents."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.execution import Artifact
from tinyagent.execution.limits import ExecutionLimits, TrustLevel
from tinyagent.execution.protocol import ExecutionResult, Guarantee, check_name

if TYPE_CHECKING:
    from tinyagent.execution.local.session import Session
    from tinyagent.execution.local.step import Step

_GUARANTEES = (
    Guarantee("time limit", enforced=True, by="checks in the code, a watchdog; not inside C"),
    Guarantee("output limit", enforced=True, by="cut in the middle"),
    Guarantee("imports from a list", enforced=True, by="checked in the syntax tree and at import"),
    Guarantee("a step that fails loses only itself", enforced=False, by="one process, no copies"),
    Guarantee("no files", enforced=False, by="no open(); an accident guard, no boundary"),
    Guarantee("no network", enforced=False, by="no such import; an accident guard, no boundary"),
    Guarantee("memory limit", enforced=False, by="nothing here"),
    Guarantee("survives a crash of the code", enforced=False, by="nothing here"),
)


class LocalExecutor:
    """Runs code in this process, in a thread of its own, through RestrictedPython's guards.

    It keeps code from accidents: from files, from other modules, from running without end. It is
    no boundary against an attack. A step that fails keeps the variables it had set. Values come
    back as the objects that the code made.

    Args:
        trust_level: LOCAL.
        limits: time, output and steps; memory, processes and files cannot be limited here.
        extra_imports: modules that may be imported besides the usual ones, with all their public
            names. `numpy` or `pandas` open files.

    Raises:
        ConfigurationError: another trust level, or `"*"` as an import.
    """

    def __init__(
        self,
        *,
        trust_level: TrustLevel = TrustLevel.LOCAL,
        limits: ExecutionLimits | None = None,
        extra_imports: Iterable[str] = (),
    ) -> None:
        extra = frozenset([extra_imports] if isinstance(extra_imports, str) else extra_imports)
        if TrustLevel(trust_level) is not TrustLevel.LOCAL:
            raise ConfigurationError(
                f"LocalExecutor runs code of trust level 'local' only, got {trust_level!r}; "
                "get_executor(trust_level) gives the right one"
            )
        if "*" in extra:
            raise ConfigurationError(
                "extra_imports=\"*\" would undo trust level 'local': name the modules, "
                "or take TrustLevel.ISOLATED"
            )
        self.trust_level = TrustLevel.LOCAL
        self.limits = limits or ExecutionLimits()
        self._extra = extra
        self._injected: dict[str, Any] = {}
        self._session: Session | None = None
        self._step: Step | None = None
        self._steps = 0
        self._closed = False

    @property
    def guarantees(self) -> Sequence[Guarantee]:
        """What is enforced here, and by what."""
        return _GUARANTEES

    def inject(self, name: str, value: Any) -> None:
        """Make `value` known to the code as `name`, from the next step on.

        A callable is called in the code's thread, or awaited on the loop of `run`; the clock
        stands still meanwhile. Anything else is the very object: what it reaches, the code reaches.

        Raises:
            ConfigurationError: the name is no identifier, or is taken.
        """
        check_name(name)
        if name.startswith("_"):
            raise ConfigurationError(f"inject {name!r}: code at LOCAL may not use names with _")
        self._injected[name] = value

    async def run(
        self, code: str, *, on_output: Callable[[str], None] | None = None
    ) -> ExecutionResult:
        """Run one step. What the code does wrong is in the result, never raised.

        Code that is stuck in C past its time is left behind in its thread: `state_lost`.

        Raises:
            ConfigurationError: the executor is closed, or a step is running.
        """
        if self._closed:
            raise ConfigurationError("this executor is closed; make a new one")
        if self._step is not None:
            raise ConfigurationError("a step is running; await it, or use a second executor")
        most = self.limits.max_steps
        if most is not None and self._steps >= most:
            return ExecutionResult(error=f"Not run: all {most} steps of this session are used up.")
        self._steps += 1
        started = time.perf_counter()
        step, session = self._begin(code, on_output)
        try:
            await step.run()
        finally:
            self._step = None
            if step.left_behind and self._session is session:
                self._session = None
            if not step.left_behind:
                session.end()
        lost = self._session is not session
        return self._result(step, lost=lost, seconds=time.perf_counter() - started)

    def _begin(self, code: str, listen: Callable[[str], None] | None) -> tuple[Step, Session]:
        from tinyagent.execution.local.output import Output  # noqa: PLC0415 - loads RestrictedPython
        from tinyagent.execution.local.session import Session  # noqa: PLC0415 - as above
        from tinyagent.execution.local.step import Step  # noqa: PLC0415 - as above

        session = self._session = self._session or Session(self._extra)
        output = Output(self.limits.max_output_bytes, asyncio.get_running_loop(), listen)
        name = f"<step {self._steps}>"
        step = self._step = Step(session, code, name, self.limits.timeout_seconds, output)
        session.bind(step, self._injected)
        return step, session

    def _result(self, step: Step, *, lost: bool, seconds: float) -> ExecutionResult:
        step.explain()
        value, metadata = step.final or (None, {})
        return ExecutionResult(
            output=self.limits.truncate_output(step.output.text()),
            error=step.error,
            timed_out=step.timed_out,
            out_of_memory=step.out_of_memory,
            is_final=step.final is not None,
            final_value=value,
            final_metadata=metadata,
            value=step.value,
            value_text=step.value_text,
            artifacts=tuple(
                Artifact(f"step-{self._steps}-figure-{number}.png", data, "image/png")
                for number, data in enumerate(step.figures, 1)
            ),
            duration_seconds=seconds,
            state_lost=lost,
        )

    async def reset(self) -> None:
        """Forget all variables; what was injected stays."""
        self.kill()

    def kill(self) -> None:
        """End what runs now, at once, and forget all variables."""
        self._session = None
        if self._step is not None:
            self._step.stop()

    async def aclose(self) -> None:
        """End the session and give everything back."""
        self._closed = True
        self.kill()
        self._injected.clear()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()
