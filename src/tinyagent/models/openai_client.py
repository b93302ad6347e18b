"""A caller's own `AsyncOpenAI` client as the way to the server; imported only when one is given."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import Any

import openai

from tinyagent.core.errors import ModelConnectionError, ModelTimeout
from tinyagent.models.failures import status_error


class ClientEndpoint:
    """Sends the body that `OpenAIModel` makes through `client.chat.completions`.

    The client's own retries are switched off: `OpenAIModel` does them. Closing it is left to its
    owner.
    """

    def __init__(self, client: openai.AsyncOpenAI) -> None:
        # The body is made by `OpenAIModel`, not by the client's typed parameters.
        self._create: Any = client.with_options(max_retries=0).chat.completions.create
        self.where = f"{client.base_url.scheme}://{client.base_url.host}{client.base_url.path}"

    async def post(self, body: dict[str, Any]) -> Any:
        """The JSON of the reply; raises `ModelError`."""
        with self._as_model_error():
            reply = await self._create(**body)
        return reply.model_dump(mode="json") if reply is not None else None

    async def stream(self, body: dict[str, Any]) -> AsyncGenerator[Any, None]:
        """The JSON of each chunk; raises `ModelError`."""
        with self._as_model_error():
            async with await self._create(**body) as chunks:
                async for chunk in chunks:
                    yield chunk.model_dump(mode="json")

    async def aclose(self) -> None:
        """Nothing: the client is its owner's."""

    @contextmanager
    def _as_model_error(self) -> Generator[None, None, None]:
        try:
            yield
        except openai.APITimeoutError:
            raise ModelTimeout(f"{self.where} did not answer in the client's time") from None
        except openai.APIStatusError as error:
            raise status_error(
                error.status_code, error.response.headers, error.response.text, self.where
            ) from None
        except openai.APIConnectionError as error:
            raise ModelConnectionError(f"no connection to {self.where}: {error}") from None
        except openai.APIError as error:
            raise ModelConnectionError(f"{self.where} failed in mid-answer: {error}") from None
