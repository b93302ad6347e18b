"""A small internet in a namespace: servers, a name server, and sandboxes of this process.

It reads cases from standard input and writes the outcome of each. Nothing in the product is changed
for it. With the argument `user`, the host program is that of an ordinary user. The first argument
is an empty folder.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import socket
import ssl
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

import trustme
from tests.tinyagent.execution.network import origin

from tinyagent import Sandbox
from tinyagent.execution.network.rules import Allow
from tinyagent.execution.network.secrets import ApiKey, Bearer
from tinyagent.execution.sandbox.executor import ProcessExecutor
from tinyagent.execution.sandbox.worker.kernel import linux
from tinyagent.execution.trust import ExecutionLimits

_USER = 12345
_BIND, _MOVE = 0x1000, 0x2000
_UP = struct.pack("16sH14x", b"lo", 0x49)


def enter(folder: Path) -> None:
    """Enter namespaces with addresses, a name server's address and no way out."""
    user, group = os.geteuid(), os.getegid()
    new = linux.CLONE_NEWNET | linux.CLONE_NEWNS
    linux.unshare(new if not user else new | linux.CLONE_NEWUSER)
    if user:
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, 0x8914, _UP)
        for number, address in enumerate(origin.ADDRESSES):
            for request, value in ((0x8916, address), (0x891C, "255.255.255.255")):
                label = f"lo:{number}".encode()
                body = struct.pack("16sHH4s8x", label, socket.AF_INET, 0, socket.inet_aton(value))
                fcntl.ioctl(sock, request, body)
    for name, text in (
        ("resolv.conf", "nameserver 127.0.0.53\nsearch evil.com\noptions timeout:1 attempts:1\n"),
        ("hosts", "127.0.0.1 localhost\n10.0.0.5 listed-inside\n"),
        ("nsswitch.conf", "hosts: files dns\n"),
    ):
        (folder / name).write_text(text, encoding="ascii")
        linux.mount(folder / name, Path("/etc") / name, None, _BIND)


def become_a_user() -> None:
    """Go on as an ordinary user, who may read this Python wherever it is installed."""
    home = Path(sys.base_prefix)
    root = Path("/") / home.parts[1]
    if not root.stat().st_mode & 1:
        with tempfile.TemporaryDirectory() as stage:
            linux.mount("tmpfs", stage, "tmpfs", 0, "mode=755")
            place = Path(stage) / home.relative_to(root)
            place.mkdir(parents=True)
            linux.mount(home, place, None, _BIND | linux.MS_REC)
            linux.mount(stage, root, None, _MOVE)
    os.setgroups([])
    os.setresgid(_USER, _USER, _USER)
    os.setresuid(_USER, _USER, _USER)
    linux.set_dumpable(True)


def certificates(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Contexts of servers, the second of an authority that nobody trusts."""
    names = ["*.example.com", "*.example.org", "*.c.example.org", "example.org", "evil.com"]
    names += ["*.example.net", "api.example.com.evil.com", "badexample.org", "localhost"]
    contexts: list[ssl.SSLContext] = []
    for is_trusted in (True, False):
        authority = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(*names).configure_cert(context)  # pyright: ignore[reportUnknownMemberType]
        contexts.append(context)
        if is_trusted:
            file = folder / "ca.pem"
            authority.cert_pem.write_to_path(file)
            os.environ["SSL_CERT_FILE"] = str(file)
    return contexts[0], contexts[1]


def _rule(item: Any) -> str | Allow:
    return item if isinstance(item, str) else Allow(*item)


def _secret(item: list[str]) -> Bearer | ApiKey:
    return Bearer(*item) if len(item) == 1 else ApiKey(*item)


async def run(case: dict[str, Any]) -> dict[str, Any]:
    """Run the steps of one case in a sandbox of its own."""
    origin.asked.clear()
    origin.requests.clear()
    os.environ.update(case.get("environment", {}))
    executor = ProcessExecutor(
        Sandbox(
            case["level"],
            network=[_rule(item) for item in case["network"]],
            secrets={host: _secret(item) for host, item in case.get("secrets", {}).items()},
            limits=ExecutionLimits(timeout_seconds=20, **case.get("limits", {})),
            imports=("*",),
            checkpoints=case.get("checkpoints", 8),
        )
    )
    steps: list[dict[str, Any]] = []
    async with executor:
        for code in case["steps"]:
            result = await executor.run(code)
            requests = [
                {name: getattr(request, name) for name in request.__slots__}
                for request in result.requests
            ]
            steps.append({"output": result.output, "error": result.error, "requests": requests})
    return {"steps": steps, "asked": list(origin.asked), "reached": list(origin.requests)}


async def main(cases: list[dict[str, Any]]) -> None:
    """Run the cases, one after another."""
    for case in cases:
        outcome = await run(case)
        sys.stdout.write(f"{json.dumps(outcome)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.chmod(0o755)
    wanted = json.load(sys.stdin)
    enter(place)
    origin.serve(*certificates(place))
    (place / "ca.pem").chmod(0o644)
    if "user" in sys.argv and not os.geteuid():
        become_a_user()
    asyncio.run(main(wanted))
