"""Options of a network, and sessions without one."""

from __future__ import annotations

import pytest

from tinyagent import Sandbox
from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.sandbox.executor import ProcessExecutor


async def test_without_a_network_nothing_of_one_is_there() -> None:
    """Not even in a session of the same program that had one before."""
    async with ProcessExecutor(Sandbox(network=["localhost"])) as executor:
        await executor.run("1")
    async with ProcessExecutor(Sandbox(imports=["socket"])) as executor:
        result = await executor.run("import socket; socket.socket()")
        assert "PermissionError" in str(result.error)
        for code in ("os.path.exists('/etc/hosts')", "os.path.exists('/etc/sandbox-ca.pem')"):
            result = await executor.run(f"import os\n{code}")
            assert result.value is False
        result = await executor.run("import socket\n'tinyagent' in socket.getaddrinfo.__module__")
        assert result.value is False


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"network": ["*"]}, "not the name of a host"),
        ({"network": ["*.com"]}, "would allow too much"),
        ({"network": ["http://"]}, "not a URL"),
        ({"network": ["a b"]}, "not a host"),
        ({"network": ["example.0x7f"]}, "not the name of a host"),
        ({"network": ["example.com:70000"]}, "no port between"),
        ({"network": ["[::1]:80"]}, "not a host"),
        ({"secrets": {"a.com": None}}, "`network`, which lists none"),
        ({"level": "local", "network": ["a.com"]}, "has no option network"),
    ],
)
def test_what_cannot_be_allowed_is_explained(options: dict[str, object], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason.replace("*", r"\*")):
        ProcessExecutor(Sandbox(**options))  # type: ignore[arg-type]
