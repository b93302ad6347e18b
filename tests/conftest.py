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

import pytest
import stamina
from stamina.instrumentation import set_on_retry_hooks

pytest_plugins = [
    "tests.support.mysql",
    "tests.support.postgres",
    "tests.support.spark_connect",
    "tests.support.suite.plugin",
]

# gRPC, which Spark Connect loads, may abort a child of this process before it is another program.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

# In the background of a shell, Ctrl-C is ignored, and the programs under test would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A failure in a helper shows its values, too.
pytest.register_assert_rewrite("tests.e2e", "tests.skillian", "tests.tinyagent")

ROOT = Path(__file__).parents[1]
FROM_OUTSIDE = ("ANTHROPIC_", "OPENAI_", "TINYAGENT_", "SKILLIAN_")


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
