"""A session has sockets only if it has a network, and then only those of a TCP client."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import pytest

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.execution.sandbox.worker.kernel import seccomp, syscalls

CALLS = ("socket", "connect", "shutdown", "setsockopt", "sendmsg")


@pytest.mark.parametrize("forks", [False, True])
def test_only_a_session_with_a_network_has_sockets(forks: bool) -> None:  # noqa: FBT001 - a case
    """The rules of `_tcp` are all that is different, and they are added last."""
    plain = seccomp.program(forks=forks, stack=0)
    assert plain == seccomp.program(forks=forks, network=False, stack=0)
    assert plain != seccomp.program(forks=forks, network=True, stack=0)
    assert {*CALLS, "sendto"} == seccomp._tcp().keys()
    assert not {*CALLS} & {*seccomp._ALLOWED.split(), *seccomp._rules(forks=forks, stack=0)}
    assert {*CALLS} <= syscalls.machine().numbers.keys()


async def test_without_a_network_there_are_no_sockets() -> None:
    async with ProcessExecutor(extra_imports=["socket"]) as executor:
        result = await executor.run("import socket; socket.socket()")
    assert "PermissionError" in str(result.error)


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
        ({"trust_level": "local", "network": ["a.com"]}, "has no option network"),
    ],
)
def test_what_cannot_be_allowed_is_explained(options: dict[str, object], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason.replace("*", r"\*")):
        ProcessExecutor(**options)  # type: ignore[arg-type]
