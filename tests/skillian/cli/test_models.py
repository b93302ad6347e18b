"""`skillian models`, with a server that lists its models as Ollama does."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.support.local_servers import OLLAMA, listing
from tests.support.ports import own_port

from skillian.settings import Settings

Run = Callable[..., "subprocess.CompletedProcess[str]"]


async def test_models_are_listed_by_the_names_to_set(skillian: Run) -> None:
    async with listing({"/api/tags": OLLAMA}) as server:
        done = await asyncio.to_thread(skillian, "models", OLLAMA_HOST=server.url)
    assert done.returncode == 0
    assert f"Ollama at {server.url}\n  ollama:llama3.1:8b\n" in done.stdout
    assert "to get a model: llama-server" in done.stdout
    assert "not set, so the offline planner answers" in done.stdout
    assert "skillian models --use local" in done.stdout
    assert Settings().model is None


async def test_the_agreement_is_written_once(skillian: Run, demo: Path) -> None:
    async with listing({"/api/tags": OLLAMA}) as server:
        done = await asyncio.to_thread(skillian, "models", "--use", "local", OLLAMA_HOST=server.url)
        assert (done.returncode, Settings().model) == (0, "local")
        done = await asyncio.to_thread(skillian, "models", OLLAMA_HOST=server.url)
        assert "SKILLIAN_MODEL: local, which is now ollama:llama3.1:8b" in done.stdout
        await asyncio.to_thread(skillian, "models", "--use", "offline", OLLAMA_HOST=server.url)
        assert Settings().model == "offline"
        known = len(server.requests)
        ask = ("ask", "which sources are there?", "--sources", str(demo))
        done = await asyncio.to_thread(skillian, *ask, OLLAMA_HOST=server.url)
    assert "offline planner" in done.stdout
    assert len(server.requests) == known


async def test_without_a_server_the_offline_planner_answers(skillian: Run, demo: Path) -> None:
    address = f"127.0.0.1:{own_port()}"
    question = ("ask", "which sources are there?", "--sources", str(demo))
    done = await asyncio.to_thread(skillian, *question, SKILLIAN_MODEL="local", OLLAMA_HOST=address)
    assert (done.returncode, "offline planner" in done.stdout) == (0, True)


def test_a_model_that_nobody_offers_is_refused(skillian: Run) -> None:
    address = f"127.0.0.1:{own_port()}"
    done = skillian("models", "--use", "ollama:gone", OLLAMA_HOST=address)
    assert done.returncode == 2
    assert "no server on this machine offers 'ollama:gone'" in done.stderr
    assert not Path(".env").exists()


async def test_the_list_for_programs(skillian: Run) -> None:
    async with listing({"/api/tags": OLLAMA}) as server:
        done = await asyncio.to_thread(skillian, "models", "--json", OLLAMA_HOST=server.url)
    report = json.loads(done.stdout)
    assert report["model"] is None
    first = report["servers"][0]
    assert (first["server"], first["models"]) == ("Ollama", ["ollama:llama3.1:8b"])
    assert (first["address"], first["problem"]) == (server.url, None)
