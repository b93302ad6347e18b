"""The server of the package mcp-server-time, which is not ours, over streamable HTTP.

The package itself has stdio only; its server object is served by the SDK. Prints its URL.
"""

from __future__ import annotations

import socket
import sys

import uvicorn
from mcp_server_time.server import create_server  # type: ignore[import-untyped]


def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp\n")
        sys.stdout.flush()
        app = create_server("UTC").streamable_http_app()
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


if __name__ == "__main__":
    main()
