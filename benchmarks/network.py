"""What a network costs: the start of a session, and the CPU of a request in all processes.

The origin is a thread of this process; its share is measured alone and taken off.
"""

from __future__ import annotations

import asyncio
import http.client
import resource
import statistics
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tinyagent.execution import ProcessExecutor

SESSIONS = 40
REQUESTS = 300
CODE = """
import time, requests
session = requests.Session()
url = "http://localhost:{port}/x"
session.get(url)
before = time.process_time()
for _ in range({count}):
    session.get(url).content
print(time.process_time() - before)
"""


class Origin(BaseHTTPRequestHandler):
    """Answers with ten bytes."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer."""
        self.send_response(200)
        self.send_header("Content-Length", "10")
        self.end_headers()
        self.wfile.write(b"0123456789")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Print nothing."""


def cpu() -> float:
    """Seconds of CPU of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def start_ms(network: Sequence[str]) -> float:
    """The median time to start a session and run a first step."""
    times: list[float] = []
    for number in range(SESSIONS + 3):
        async with ProcessExecutor(network=network) as executor:
            started = time.perf_counter()
            await executor.run("1")
            times.append(time.perf_counter() - started)
        if number < 3:
            times.clear()
        await asyncio.sleep(0.03)  # the template forks the next process ahead
    return statistics.median(times) * 1000


def origin_ms(port: int) -> float:
    """CPU of a request in the origin."""
    connection = http.client.HTTPConnection("localhost", port)
    before, own = cpu(), time.thread_time()
    for _ in range(REQUESTS):
        connection.request("GET", "/x")
        connection.getresponse().read()
    return (cpu() - before - (time.thread_time() - own)) / REQUESTS * 1000


async def main() -> None:
    """Measure and print."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    without, having = await start_ms(()), await start_ms([f"localhost:{port}"])
    lines = [f"session start: {without:.1f} ms, with a network {having:.1f} ms"]
    alone = origin_ms(port)
    async with ProcessExecutor(network=[f"localhost:{port}"]) as executor:
        before = cpu()
        result = await executor.run(CODE.format(port=port, count=REQUESTS))
        host = (cpu() - before) / REQUESTS * 1000 - alone
    inside = float(result.output) / REQUESTS * 1000
    lines.append(
        f"CPU of a request (http, requests.Session): {inside:.2f} ms in the session,"
        f" {host:.2f} ms in the host; the origin's {alone:.2f} ms are not counted"
    )
    print("\n".join(lines))


if __name__ == "__main__":
    asyncio.run(main())
