"""What `skillian doctor` looks at: each part tried, with what to do where it does not work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec

from skillian.data.declare.check import check_sources
from skillian.data.declare.sources import SourceRegistry
from skillian.errors import SkillianError, how_to_install
from skillian.models import make_model
from skillian.offline.vocabulary import Vocabulary
from skillian.settings import Settings
from skillian.skills.discovery import find_skills
from skillian.skills.front_matter import FILE, read_skill_file
from tinyagent import Message, SandboxUnavailable, TinyAgentError
from tinyagent.core import ModelAuthenticationError, ModelConnectionError, ModelRequest
from tinyagent.execution import ProcessExecutor

MODEL_SECONDS = 60.0
OWNER = "skillian doctor"

_PACKAGES = {
    "sqlalchemy": ("service", "sessions: skillian chat, skillian serve"),
    "fastapi": ("service", "skillian serve"),
    "mcp": ("service", "skillian mcp"),
    "ag_ui": ("service", "AG-UI front ends"),
    "dbos": ("durable", "turns that survive, skillian worker"),
    "psycopg": ("postgres", "PostgreSQL"),
    "pymysql": ("mysql", "MySQL, MariaDB"),
    "pyspark": ("spark", "Spark"),
    "anthropic": ("anthropic", "models of Anthropic"),
    "pandas": ("python", "run_python"),
}
_KEYS = "set OPENAI_API_KEY, ANTHROPIC_API_KEY or OLLAMA_API_KEY, as the model's provider wants it"
_ADDRESS = "start its server, or set OPENAI_BASE_URL, ANTHROPIC_BASE_URL or OLLAMA_HOST"


class Verdict(StrEnum):
    """How it stands with a part."""

    OK = "ok"
    FAULT = "FAULT"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one part, and what to do where something is wrong or missing."""

    part: str
    verdict: Verdict
    text: str
    mend: str = ""


async def examine(settings: Settings) -> AsyncGenerator[Finding, None]:
    """Look at each part in turn; nothing but the findings is raised."""
    for part, look in _LOOKS.items():
        try:
            yield await look(settings)
        except (SkillianError, TinyAgentError) as error:
            yield Finding(part, Verdict.FAULT, str(error), _MENDS.get(part, ""))
    for package, (extra, what) in _PACKAGES.items():
        if find_spec(package) is None:
            mend = f"if you need it, {how_to_install(extra)}"
            yield Finding(package, Verdict.ABSENT, what, mend)
        else:
            yield Finding(package, Verdict.OK, what)


async def _sources(settings: Settings) -> Finding:
    registry = SourceRegistry.load(settings.sources)
    async with aclosing(check_sources(registry)) as findings:
        faults = [each.source async for each in findings if each.is_fault]
    if faults:
        named = ", ".join(dict.fromkeys(faults))
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        text = f"{count} in {named}"
        return Finding("sources", Verdict.FAULT, text, "skillian sources check")
    return Finding("sources", Verdict.OK, f"{len(registry.names)} sources as declared")


async def _model(settings: Settings) -> Finding:
    model = make_model(settings.model, Vocabulary({}))
    if settings.model is None:
        mend = "for a language model set SKILLIAN_MODEL, such as openai:NAME"
        return Finding("model", Verdict.OK, model.name, mend)
    request = ModelRequest([Message("user", "Answer with the word: ready")])
    try:
        async with asyncio.timeout(MODEL_SECONDS):
            await model.complete(request)
    except TimeoutError:
        text = f"{model.name} did not answer in {MODEL_SECONDS:g} s"
        return Finding("model", Verdict.FAULT, text, _ADDRESS)
    except ModelAuthenticationError as error:
        return Finding("model", Verdict.FAULT, str(error), _KEYS)
    except ModelConnectionError as error:
        return Finding("model", Verdict.FAULT, str(error), _ADDRESS)
    return Finding("model", Verdict.OK, f"{model.name} answers")


async def _store(settings: Settings) -> Finding:
    if find_spec("sqlalchemy") is None:
        mend = how_to_install("service")
        return Finding("session store", Verdict.ABSENT, "needs the package sqlalchemy", mend)
    from skillian.storage import open_store

    async with open_store(settings.database_url.get_secret_value()) as store:
        session = await store.create(OWNER, "a trial")
        await store.delete(OWNER, session.id)
    return Finding("session store", Verdict.OK, "a session was written and deleted")


async def _skills(settings: Settings) -> Finding:
    names = [read_skill_file(folder / FILE)[0].name for folder in find_skills(settings.skills)]
    return Finding("skills", Verdict.OK, ", ".join(names))


async def _sandbox(_: Settings) -> Finding:
    async with ProcessExecutor() as executor:
        try:
            done = await executor.run("1 + 1")
        except SandboxUnavailable as error:
            mend = "tinyagent doctor says how to get more"
            return Finding("sandbox", Verdict.ABSENT, f"run_python cannot run: {error}", mend)
        kept = [one.enforced for one in executor.guarantees]
    if done.error is not None:
        return Finding("sandbox", Verdict.FAULT, str(done.error), "tinyagent doctor tries each")
    text = f"code runs; {sum(kept)} of {len(kept)} promises are enforced here"
    return Finding("sandbox", Verdict.OK, text, "" if all(kept) else "tinyagent doctor lists them")


async def _service(settings: Settings) -> Finding:
    text = f"{settings.host}, port {settings.port}, {len(settings.api_keys)} API keys"
    if find_spec("fastapi") is None:
        return Finding("service", Verdict.ABSENT, text, "see fastapi below")
    from skillian.api.auth import check_address

    check_address(settings.host, has_keys=bool(settings.api_keys))
    return Finding("service", Verdict.OK, text)


_LOOKS: dict[str, Callable[[Settings], Awaitable[Finding]]] = {
    "sources": _sources,
    "model": _model,
    "session store": _store,
    "skills": _skills,
    "sandbox": _sandbox,
    "service": _service,
}
_MENDS = {
    "sources": "skillian demo --keep FOLDER or skillian sources infer URL writes a first file",
    "model": "see SKILLIAN_MODEL",
    "session store": "set SKILLIAN_DATABASE_URL, or make its folder writable",
    "skills": "skillian skills check PATH",
}
