"""The checks of `skillian doctor`: each part is tried, with a fix for what does not work."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from skillian.connectors import ENGINES
from skillian.data.declare.check import check_sources
from skillian.data.declare.sources import SourceRegistry
from skillian.demo.ledger import QUESTIONS, write_demo
from skillian.errors import SkillianError
from skillian.evaluation.judging import AnswerVerdict
from skillian.evaluation.questions import read_questions
from skillian.evaluation.running import QuestionResult, count_verdicts, open_questions
from skillian.local_models import chosen_model
from skillian.models import make_model
from skillian.offline.language.vocabulary import Vocabulary
from skillian.offline.planner import OfflinePlanner
from skillian.settings import Settings
from skillian.skills.discovery import find_skills
from skillian.skills.front_matter import FILE, read_skill_file
from tinyagent import Message, SandboxUnavailable, TinyAgentError
from tinyagent.core import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelRequest,
    how_to_install,
)
from tinyagent.execution import ProcessExecutor

MODEL_SECONDS = 60.0
PROBE_SECONDS = 300.0
_LONGEST_REASON = 300
OWNER = "skillian doctor"

_PACKAGES = {
    "sqlalchemy": ("service", "sessions: skillian chat, skillian serve"),
    "fastapi": ("service", "skillian serve"),
    "mcp": ("service", "skillian mcp"),
    "ag_ui": ("service", "AG-UI front ends"),
    "dbos": ("durable", "durable turns, skillian worker"),
    "pandas": ("python", "run_python"),
}
_KEYS = "set the key of the provider, such as OPENAI_API_KEY or ANTHROPIC_API_KEY"
_ADDRESS = "start its server, or set its address, such as OPENAI_BASE_URL or OLLAMA_HOST"


class CheckVerdict(StrEnum):
    """Whether a part works."""

    OK = "ok"
    FAULT = "FAULT"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Whether a part works; `fix` says what to do if it does not."""

    part: str
    verdict: CheckVerdict
    text: str
    fix: str = ""


async def check_all(settings: Settings) -> AsyncGenerator[CheckResult, None]:
    """Check each part in turn; an error of a part is a result."""
    model_works = False
    for part, check in _CHECKS.items():
        if part == "answers" and not model_works:
            continue
        try:
            result = await check(settings)
        except (SkillianError, TinyAgentError) as error:
            result = CheckResult(part, CheckVerdict.FAULT, str(error), _FIXES.get(part, ""))
        model_works = part == "model" and result.verdict is CheckVerdict.OK
        yield result
    for package, (extra, what) in (_PACKAGES | _drivers()).items():
        if not _is_installed(package):
            fix = f"if you need it, {how_to_install(extra)}"
            yield CheckResult(package, CheckVerdict.ABSENT, what, fix)
        else:
            yield CheckResult(package, CheckVerdict.OK, what)


def _drivers() -> dict[str, tuple[str, str]]:
    """The drivers of databases, by module."""
    return {
        driver: (engine.extra, engine.label)
        for engine in ENGINES
        if engine.extra != "skillian"
        for driver in engine.drivers
    }


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a package that holds the module
        return False


async def _sources(settings: Settings) -> CheckResult:
    registry = SourceRegistry.load(settings.sources)
    async with aclosing(check_sources(registry)) as findings:
        faults = [each.source async for each in findings if each.is_fault]
    if faults:
        names = ", ".join(dict.fromkeys(faults))
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        text = f"{count} in {names}"
        return CheckResult("sources", CheckVerdict.FAULT, text, "run: skillian sources check")
    return CheckResult(
        "sources", CheckVerdict.OK, f"{len(registry.names)} sources match their declaration"
    )


async def _model(settings: Settings) -> CheckResult:
    model = make_model(await chosen_model(settings.model), Vocabulary({}))
    if isinstance(model, OfflinePlanner):
        fix = "to use a language model, set SKILLIAN_MODEL, or see: skillian models"
        return CheckResult("model", CheckVerdict.OK, model.name, fix)
    request = ModelRequest([Message("user", "Answer with the word: ready")])
    try:
        async with asyncio.timeout(MODEL_SECONDS):
            await model.complete(request)
    except TimeoutError:
        text = f"{model.name} did not answer in {MODEL_SECONDS:g} s"
        return CheckResult("model", CheckVerdict.FAULT, text, _ADDRESS)
    except ModelAuthenticationError as error:
        return CheckResult("model", CheckVerdict.FAULT, str(error), _KEYS)
    except ModelConnectionError as error:
        return CheckResult("model", CheckVerdict.FAULT, str(error), _ADDRESS)
    return CheckResult("model", CheckVerdict.OK, f"{model.name} answers")


async def _answers(settings: Settings) -> CheckResult:
    """Ask the model the demo's questions, whose answers are known."""
    results: list[QuestionResult] = []
    with tempfile.TemporaryDirectory(prefix="skillian-doctor-") as name:
        folder = Path(name)
        await asyncio.to_thread(write_demo, folder)
        questions = read_questions(folder / QUESTIONS)
        with suppress(TimeoutError):
            async with (
                asyncio.timeout(PROBE_SECONDS),
                open_questions(questions, settings.model) as asking,
            ):
                await asking.run(results.append)
    asked, number = len(results), len(questions.questions)
    text = f"{number} probe questions about the demo: {count_verdicts(results)}"
    if asked < number:
        text += f"; only {asked} of them in {PROBE_SECONDS:g} s"
    by_model = {each.judgement.verdict for each in results if not each.answer.is_planned}
    is_usable = AnswerVerdict.RIGHT in by_model and AnswerVerdict.WRONG not in by_model
    verdict = CheckVerdict.OK if is_usable else CheckVerdict.FAULT
    fix = _advice(results) if results else _FIXES["answers"]
    return CheckResult("answers", verdict, text, fix)


def _advice(results: Sequence[QuestionResult]) -> str:
    """How the first question that was not answered as expected failed, and what to do."""
    for result in results:
        if result.judgement.verdict is not AnswerVerdict.RIGHT:
            reason = result.judgement.reason[:_LONGEST_REASON]
            return f"{result.expected.question!r}: {reason}\n       {_FIXES['answers']}"
    if all(result.answer.is_planned for result in results):
        return f"the model itself made no valid call\n       {_FIXES['answers']}"
    return ""


async def _store(settings: Settings) -> CheckResult:
    if find_spec("sqlalchemy") is None:
        fix = how_to_install("service")
        return CheckResult(
            "session store", CheckVerdict.ABSENT, "needs the package sqlalchemy", fix
        )
    from skillian.storage import open_store

    async with open_store(settings.database_url.get_secret_value()) as store:
        session = await store.create(OWNER, "a check")
        await store.delete(OWNER, session.id)
    return CheckResult("session store", CheckVerdict.OK, "a session was written and deleted")


async def _skills(settings: Settings) -> CheckResult:
    names = [read_skill_file(folder / FILE)[0].name for folder in find_skills(settings.skills)]
    return CheckResult("skills", CheckVerdict.OK, ", ".join(names))


async def _sandbox(_: Settings) -> CheckResult:
    async with ProcessExecutor() as executor:
        try:
            done = await executor.run("1 + 1")
        except SandboxUnavailable as error:
            text = f"run_python cannot run: {error}"
            return CheckResult("sandbox", CheckVerdict.ABSENT, text, "see: tinyagent doctor")
        enforced = [each.enforced for each in executor.guarantees]
    if done.error is not None:
        return CheckResult("sandbox", CheckVerdict.FAULT, str(done.error), "see: tinyagent doctor")
    text = f"code runs; {sum(enforced)} of {len(enforced)} guarantees are enforced here"
    return CheckResult(
        "sandbox", CheckVerdict.OK, text, "" if all(enforced) else "see: tinyagent doctor"
    )


async def _service(settings: Settings) -> CheckResult:
    text = f"{settings.host}, port {settings.port}, {len(settings.api_keys)} API keys"
    if find_spec("fastapi") is None:
        return CheckResult("service", CheckVerdict.ABSENT, text, "see fastapi below")
    from skillian.api.auth import check_address

    check_address(settings.host, has_keys=bool(settings.api_keys))
    return CheckResult("service", CheckVerdict.OK, text)


_CHECKS: dict[str, Callable[[Settings], Awaitable[CheckResult]]] = {
    "sources": _sources,
    "model": _model,
    "answers": _answers,
    "session store": _store,
    "skills": _skills,
    "sandbox": _sandbox,
    "service": _service,
}
_FIXES = {
    "sources": "to write a first file: skillian demo --keep FOLDER or skillian sources infer URL",
    "model": "change SKILLIAN_MODEL",
    "answers": "try a larger model; for each answer, run: skillian demo --keep FOLDER and"
    " skillian eval FOLDER/questions.yaml",
    "session store": "set SKILLIAN_DATABASE_URL, or make its folder writable",
    "skills": "run: skillian skills check PATH",
}
