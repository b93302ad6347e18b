"""An MCP server over stdio written out by hand, line by line, that fails as its argument says.

    python faulty.py MODE

Modes: `plain` (its tools fail in ways of their own), `silent`, `garbage`, `nonsense`, `many`,
`endless`, `stubborn` (does not end when it is asked to, and has a child that does not either).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

MODE = sys.argv[1]
OPEN = {"type": "object", "properties": {}}
NAMES = ["die", "hang", "nonsense", "refuse", "environment", "cancellations", "pid"]
CANCELLED: list[int] = []


def tools() -> list[dict[str, Any]]:
    if MODE == "many":
        return [{"name": f"tool{number}", "inputSchema": OPEN} for number in range(3_000)]
    return [{"name": name, "inputSchema": OPEN} for name in NAMES]


def call(name: str) -> dict[str, Any] | None:
    """The result of a call; None leaves out the answer."""
    if name == "die":
        sys.exit(3)
    if name == "hang":
        return None
    if name == "nonsense":
        return {"content": "no list of blocks"}
    text = {
        "environment": json.dumps(dict(os.environ)),
        "cancellations": str(len(CANCELLED)),
        "pid": str(os.getpid()),
    }[name]
    return {"content": [{"type": "text", "text": text}]}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """What the answer has in addition to its id."""
    if method == "initialize":
        info = {"name": "faulty", "version": "1"}
        version = {} if MODE == "nonsense" else {"protocolVersion": "2025-06-18"}
        return {"result": {**version, "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        if MODE == "endless":
            return {"result": {"tools": [], "nextCursor": "again"}}
        return {"result": {"tools": tools()}}
    if method == "tools/call" and params["name"] != "refuse":
        result = call(params["name"])
        return None if result is None else {"result": result}
    return {"error": {"code": -32601, "message": f"there is no {method} here"}}


def main() -> None:
    if MODE == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "notifications/cancelled":
            CANCELLED.append(message["params"]["requestId"])
        if MODE == "garbage":
            sys.stdout.write("Listening on port 8080 ...\n")
        elif "id" in message and MODE != "silent":
            content = answer(message["method"], message.get("params", {}))
            if content is not None:
                reply = {"jsonrpc": "2.0", "id": message["id"], **content}
                sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
    if MODE == "stubborn":
        signal.pause()


if __name__ == "__main__":
    main()
