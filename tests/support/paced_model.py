"""A chat completions server whose answers stop in their middle until a test lets them go on."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.serving import UNCOUNTED
from tests.support.waits import until

from tinyagent import Usage
from tinyagent.core import ModelResponse, RawToolCall
from tinyagent.testing.apis import completion_json, completion_sse

HERE = "\N{DOUBLE VERTICAL BAR}"
"""Marks the place in a scripted text where the answer stops until the test releases it."""
PATIENCE_SECONDS = 180.0

Answer = str | RawToolCall | Callable[[dict[str, Any]], str | RawToolCall]


class PacedModel:
    """What the server is to say, and where it stands.

    Attributes:
        base_url: where it listens.
    """

    def __init__(self, port: int) -> None:
        self.base_url = f"http://127.0.0.1:{port}/v1"
        self._scripts: dict[str, Sequence[Answer]] = {}
        self._go_on = threading.Event()
        self._waiting = 0
        self._lock = threading.Lock()

    def says(self, question: str, *answers: Answer) -> None:
        """Give these answers to a message that contains this, one a step."""
        self._go_on.clear()
        self._scripts[question] = answers

    def wait_until_held(self, number: int = 1) -> None:
        """Return when so many answers stand still."""
        until(lambda: self._waiting >= number, PATIENCE_SECONDS)

    def let_go(self) -> None:
        """Let all answers go on."""
        self._go_on.set()

    def answer(self, body: dict[str, Any]) -> ModelResponse:
        """The next answer to a request."""
        messages = body["messages"]
        asked = max(i for i, message in enumerate(messages) if message["role"] == "user")
        step = sum(message["role"] == "tool" for message in messages[asked:])
        said = str(messages[asked]["content"])
        script = next((s for q, s in reversed(self._scripts.items()) if q in said), ("I see.",))
        given = script[min(step, len(script) - 1)]
        answer = given(body) if callable(given) else given
        usage = Usage(1, input_tokens=100, output_tokens=20)
        if isinstance(answer, str):
            return ModelResponse(answer, usage=usage)
        call = RawToolCall(answer.id or f"call_{step}", answer.name, answer.arguments)
        return ModelResponse(None, (call,), usage, "tool_calls")

    def hold(self) -> None:
        """Stand still until let go."""
        with self._lock:
            self._waiting += 1
        self._go_on.wait(PATIENCE_SECONDS)
        with self._lock:
            self._waiting -= 1


def by_model(model: PacedModel) -> dict[str, str]:
    """The settings of a server that this model answers for."""
    return {
        "SKILLIAN_MODEL": "openai:any",
        "OPENAI_BASE_URL": model.base_url,
        "OPENAI_API_KEY": "none",
        **UNCOUNTED,
    }


@contextmanager
def paced_model() -> Generator[PacedModel]:
    """A running server, in its own threads."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            response = model.answer(body)
            streamed = bool(body.get("stream"))
            self.send_response(200)
            kind = "text/event-stream" if streamed else "application/json"
            self.send_header("Content-Type", kind)
            self.end_headers()
            if streamed:
                self._stream(completion_sse(response))
            else:
                self.wfile.write(json.dumps(completion_json(response)).encode())

        def _stream(self, events: bytes) -> None:
            try:
                for part in events.split(b"\n\n")[:-1]:
                    if json.dumps(HERE)[1:-1].encode() in part:
                        self.wfile.flush()
                        model.hold()
                        continue
                    self.wfile.write(part + b"\n\n")
            except ConnectionError:
                return  # whoever asked has gone

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model = PacedModel(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield model
    finally:
        model.let_go()
        server.shutdown()
        server.server_close()
        thread.join()
