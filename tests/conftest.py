"""For all tests: no keys and no proxies from outside, retries without their waits."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import hypothesis
import pytest
import stamina
from stamina.instrumentation import set_on_retry_hooks
from tests.support.campaign import mark_campaign

pytest_plugins = ["tests.support.mysql", "tests.support.postgres"]

ROOT = Path(__file__).parents[1]
# The servers of these tests take seconds to start, so one worker of xdist runs all tests of a kind.
ONE_WORKER = ("browser", "llm", "mysql", "spark")
FROM_OUTSIDE = ("ANTHROPIC_", "OPENAI_", "TINYAGENT_", "SKILLIAN_")

# Workers of xdist ignore Ctrl-C, and the programs that they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Cores are shared, so the time of one example says nothing. CI tries the same examples each time;
# other runs try new ones.
ALL = hypothesis.settings(deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.register_profile("all", ALL)
hypothesis.settings.register_profile("sample", ALL, max_examples=25)
hypothesis.settings.load_profile("all")


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_campaign(items)
    for item in items:
        for name in ONE_WORKER:
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.xdist_group(name))


def pytest_configure(config: pytest.Config) -> None:
    """Try properties with fewer examples if the campaign is left out."""
    if "not campaign" in config.getoption("markexpr"):
        hypothesis.settings.load_profile("sample")


def pytest_collection_finish() -> None:
    """Exclude the objects made by collection from garbage collections.

    NiceGUI's simulated browser collects twice for each test, half a second each time otherwise.
    """
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let the interpreter collect them at its end, or extensions report leaks."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(FROM_OUTSIDE) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _retries_do_not_wait() -> Generator[None]:
    """As many tries as in earnest, and no waits between them."""
    with stamina.set_testing(testing=True, attempts=100, cap=True):
        yield


@pytest.fixture
def waits() -> Generator[list[float]]:
    """The waits between tries, as they would be otherwise, in seconds."""
    seconds: list[float] = []
    set_on_retry_hooks([lambda details: seconds.append(details.wait_for)])
    yield seconds
    set_on_retry_hooks(None)


class RealModel(NamedTuple):
    """A running server of the small real model."""

    base_url: str
    process: subprocess.Popen[str]


@contextmanager
def _running_model() -> Generator[RealModel]:
    program = ROOT / "tests" / "support" / "small_model.py"
    command = [sys.executable, str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        if not base_url:
            pytest.fail(f"the small model did not start: exit code {process.wait()}, see above")
        try:
            yield RealModel(base_url, process)
        finally:
            process.kill()


@pytest.fixture(scope="session")
def small_model() -> Generator[str]:
    """The base URL of the small real model's server, one for all tests."""
    with _running_model() as model:
        yield model.base_url


@pytest.fixture
def mortal_model() -> Generator[RealModel]:
    """A server of the test's own, which it may kill."""
    with _running_model() as model:
        yield model
