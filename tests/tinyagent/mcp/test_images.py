"""Images and documents through MCP, both ways."""

from __future__ import annotations

import base64

import pytest
from mcp import Client, types

from tinyagent import Document, Image, OpenAIModel, ReactAgent, Text, tool
from tinyagent.mcp import mcp_server, mcp_tools
from tinyagent.testing import Call, Output, StrictServer

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PDF = b"%PDF-1.4\n%%EOF"


@tool
def look() -> tuple[str, Image, Document]:
    """Look at the plan and its paper."""
    return "The plan:", Image(PNG), Document(PDF, "the plan.pdf")


@tool
def draw() -> Image:
    """Draw a dot."""
    return Image(PNG)


async def test_a_client_receives_images_and_documents() -> None:
    async with Client(mcp_server([look])) as client:
        result = await client.call_tool("look")
    text, image, paper = result.content
    assert isinstance(text, types.TextContent)
    assert isinstance(image, types.ImageContent)
    assert isinstance(paper, types.EmbeddedResource)
    assert isinstance(paper.resource, types.BlobResourceContents)
    assert (text.text, image.mime_type, base64.b64decode(image.data)) == (
        "The plan:",
        "image/png",
        PNG,
    )
    assert (paper.resource.mime_type, base64.b64decode(paper.resource.blob)) == (
        "application/pdf",
        PDF,
    )


async def test_served_tools_come_back_unchanged() -> None:
    async with mcp_tools(mcp_server([look])) as (made,):
        assert await made.run({}) == ["The plan:", Image(PNG), Document(PDF, "the plan.pdf")]


@pytest.mark.parametrize("provider", ["openai", "mistral"])
async def test_an_image_of_a_server_reaches_the_model_behind_all_results(provider: str) -> None:
    calls = [Call("draw", {}), Call("draw", {})]
    async with StrictServer(provider, [Output(calls=calls), "A dot."]) as server:
        name = {"openai": "gpt-4.1", "mistral": "pixtral-large-latest"}[provider]
        model = OpenAIModel(name, base_url=server.base_url, api_key="k", provider=provider)
        async with mcp_tools(mcp_server([draw])) as tools:
            result = await ReactAgent(model, tools).run("What is it?")
        assert server.refusals == []
        assert [seen.data for seen in server.attachments] == [PNG, PNG]
        assert [each.role for each in result.memory.messages[2:5]] == ["assistant", "tool", "tool"]
        roles = [each["role"] for each in server.requests[1]["messages"]]
        assert roles[-1] == "user"
        assert "user" not in roles[roles.index("tool") : -1]


def test_a_false_pdf_is_described() -> None:
    assert _read(b"no pdf at all", "application/pdf") == (
        "[resource a:b application/pdf, 13 bytes]"
    )


def _read(data: bytes, kind: str) -> str | list[str | Image | Document]:
    from tinyagent.mcp.content import result_content

    blob = base64.b64encode(data).decode()
    resource = types.BlobResourceContents(uri="a:b", mime_type=kind, blob=blob)
    return result_content(types.CallToolResult(content=[types.EmbeddedResource(resource=resource)]))


async def test_a_text_among_the_parts_stays_a_text() -> None:
    def said() -> list[Text | Image]:
        """Say and show."""
        return [Text("one"), Image(PNG)]

    async with mcp_tools(mcp_server([said])) as (made,):
        assert await made.run({}) == ["one", Image(PNG)]
