"""Results of MCP servers for a model, and results of our tools for an MCP client."""

from __future__ import annotations

import binascii
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote

from mcp import types

from tinyagent.core.errors import ConfigurationError, ToolRetry
from tinyagent.core.parts import ContentPart, Document, Image, to_base64
from tinyagent.core.types import ToolResult
from tinyagent.core.untrusted import as_object


def result_content(result: types.CallToolResult) -> str | list[str | Image | Document]:
    """The texts of a result, its structured content as JSON, and a description of other content.

    Images and PDFs that a model can read are returned among the texts.

    Raises:
        ToolRetry: The result is an error; the message is the server's.
    """
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    parts = [_read_block(block) for block in result.content]
    structured: Any = result.structured_content
    if structured is not None and not _says_the_same(texts, structured):
        parts.append(json.dumps(structured, ensure_ascii=False))
    if result.is_error or all(isinstance(part, str) for part in parts):
        text = "\n".join(part if isinstance(part, str) else part.describe() for part in parts)
        if result.is_error:
            raise ToolRetry(text or "the tool reported an error without a message")
        return text or "(no content)"
    return parts


def result_blocks(result: ToolResult) -> list[types.ContentBlock]:
    """A tool's result for an MCP client: text, images, and PDFs as embedded resources."""
    if not result.parts:
        return [types.TextContent(text=result.content)]
    return [_block(number, part) for number, part in enumerate(result.parts, 1)]


def _block(number: int, part: ContentPart) -> types.ContentBlock:
    if isinstance(part, Image):
        return types.ImageContent(data=to_base64(part.data), mime_type=part.media_type)
    if isinstance(part, Document):
        return types.EmbeddedResource(
            resource=types.BlobResourceContents(
                uri=f"attachment:{number}/{quote(part.name)}",
                mime_type=part.media_type,
                blob=to_base64(part.data),
            )
        )
    return types.TextContent(text=part.text)


def _read_block(block: types.ContentBlock) -> str | Image | Document:
    with suppress(ValueError, ConfigurationError):  # otherwise it is only described
        match block:
            case types.ImageContent(data=data):
                return Image(binascii.a2b_base64(data, strict_mode=True))
            case types.EmbeddedResource(
                resource=types.BlobResourceContents(mime_type="application/pdf") as resource
            ):
                content = binascii.a2b_base64(resource.blob, strict_mode=True)
                name = unquote(str(resource.uri).rpartition("/")[2])
                return Document(content, name)
            case _:
                pass
    return _block_text(block)


def _block_text(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent() | types.AudioContent():
            return f"[{block.type} {block.mime_type}, {_size(block.data)}]"
        case types.ResourceLink():
            return f"[link {block.name}: {block.uri}]"
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return f"[resource {resource.uri}]\n{resource.text}"
        case types.EmbeddedResource(resource=types.BlobResourceContents() as resource):
            kind = resource.mime_type or "of no stated type"
            return f"[resource {resource.uri} {kind}, {_size(resource.blob)}]"
        case _:
            return f"[{block.type}]"


def _size(base64_text: str) -> str:
    return f"{len(base64_text.rstrip('=')) * 3 // 4:,} bytes"


def _says_the_same(texts: Sequence[str], structured: Any) -> bool:
    """Whether the texts already contain the structured content.

    For older clients, servers should send it as text too. Servers that wrap a plain value as
    `{"result": value}` send the plain value as text, and a list as one text for each item.
    """
    entries = as_object(structured)
    bare = entries["result"] if entries is not None and set(entries) == {"result"} else structured
    if len(texts) == 1 and texts[0] == bare:
        return True
    read = [_read(text) for text in texts]
    return read in ([structured], [bare]) or (bool(read) and bare in (read, list(texts)))


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
