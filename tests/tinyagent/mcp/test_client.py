"""What becomes of a server's tools and results."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import types
from mcp.server import MCPServer, Server

from tinyagent import Image, Tool
from tinyagent.core.errors import ToolArgumentsError, ToolRetry, ToolServerError
from tinyagent.mcp import mcp_tools
from tinyagent.mcp.client import _callable, _unique

OPEN: dict[str, Any] = {"type": "object", "properties": {}}


def _offering(*tools: types.Tool) -> Server[Any]:
    """A server that lists `tools`; each answers with its name and arguments."""

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(tools))

    async def call(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        part = types.TextContent(text=f"{params.name} {params.arguments}")
        return types.CallToolResult(content=[part])

    return Server("offering", on_list_tools=list_tools, on_call_tool=call)


def _answering(
    answer: Callable[[], types.CallToolResult | types.InputRequiredResult],
    output_schema: dict[str, Any] | None = None,
) -> Server[Any]:
    """A server whose one tool answers as the test says."""

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        tool = types.Tool(name="answer", input_schema=OPEN, output_schema=output_schema)
        return types.ListToolsResult(tools=[tool])

    async def call(_context: Any, _params: Any) -> types.CallToolResult | types.InputRequiredResult:
        return answer()

    return Server("answering", on_list_tools=list_tools, on_call_tool=call)


async def _tools(*tools: types.Tool) -> list[Tool]:
    async with mcp_tools(_offering(*tools)) as made:
        return made


async def _answer(result: types.CallToolResult, **schema: Any) -> Any:
    async with mcp_tools(_answering(lambda: result, schema or None)) as (tool,):
        return await tool.run({})


async def test_names_are_made_callable_and_unique_and_still_reach_their_tools() -> None:
    names = ["a.b", "a b", "a_b", "1st", "naïve/path", "x" * 80, "x" * 90]
    offered = [types.Tool(name=name, input_schema=OPEN) for name in names]
    async with mcp_tools(_offering(*offered)) as tools:
        assert [tool.name for tool in tools] == [
            "a_b",
            "a_b_2",
            "a_b_3",
            "tool_1st",
            "na_ve_path",
            "x" * 64,
            "x" * 62 + "_2",
        ]
        assert [(await tool.run({})).split(" {")[0] for tool in tools] == names


@given(st.lists(st.text(max_size=80), max_size=8))
def test_any_names_become_callable_and_unique(names: list[str]) -> None:
    taken: dict[str, Tool] = {}
    for name in names:
        made = Tool(_unique(_callable(name), taken), print, "doc", OPEN, dict)
        assert made.name not in taken
        taken[made.name] = made


async def test_the_description_of_a_server_s_tool_is_bounded_and_visible() -> None:
    hidden = "".join(chr(0xE0000 + ord(char)) for char in "obey") + "\u202e\u200b\x1b[31m"
    schema = {
        "type": "object",
        "$defs": {"x": {"description": f"deep{hidden}"}},
        "properties": {"a": {"type": "string", "title": "A", "description": f"one\ntwo{hidden}"}},
    }
    described, undescribed = await _tools(
        types.Tool(
            name="described", description=f"{hidden}say\n{'x' * 9_000}", input_schema=schema
        ),
        types.Tool(name="undescribed", title="A title", input_schema=OPEN),
    )
    assert len(described.description) == 2_000
    assert described.description.startswith("[31msay\nxxx")
    assert described.description.endswith("x…")
    assert described.json_schema == {
        "type": "object",
        "properties": {"a": {"type": "string", "description": "one\ntwo[31m"}},
        "$defs": {"x": {"description": "deep[31m"}},
    }
    assert undescribed.description == "A title"


async def test_a_schema_too_long_for_a_model_leaves_its_tool_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    long = {"type": "object", "properties": {"a": {"enum": ["x" * 30_000]}}}
    with caplog.at_level(logging.WARNING, "tinyagent"):
        (short,) = await _tools(
            types.Tool(name="long", input_schema=long), types.Tool(name="short", input_schema=OPEN)
        )
    assert short.name == "short"
    assert "the tool long of 'offering' is left out" in caplog.text


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "unit": {"enum": ["kg", "lb"]},
        "kind": {"const": "weight"},
        "note": {"type": ["string", "null"]},
        "any": {},
        "strange": {"type": "no such type"},
    },
    "required": ["count", "unit", 7],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "count: required, but missing\nunit: required, but missing"),
        ({"count": "4", "unit": "kg"}, "count: expected integer, got '4'"),
        ({"count": 4, "unit": "st"}, "unit: expected one of ['kg', 'lb'], got 'st'"),
        ({"count": 4, "unit": "kg", "kind": 1}, "kind: expected 'weight', got 1"),
        ({"count": 4, "unit": "kg", "note": 1}, "note: expected string or null, got 1"),
        ({"count": 4, "unit": "kg", "extra": 1}, "extra: there is no such argument"),
        (
            {"count": "x" * 500, "unit": "kg"},
            f"count: expected integer, got '{'x' * 199}… (502 characters)",
        ),
    ],
)
async def test_wrong_arguments_never_reach_the_server(
    arguments: dict[str, Any], message: str
) -> None:
    (tool,) = await _tools(types.Tool(name="weigh", input_schema=SCHEMA))
    with pytest.raises(ToolArgumentsError) as wrong:
        await tool.run(arguments)  # the server is gone: it would be another error
    assert str(wrong.value) == message


async def test_right_arguments_reach_it_as_they_are() -> None:
    given = {"count": 4, "unit": "kg", "kind": "weight", "note": None, "any": [1], "strange": 2}
    async with mcp_tools(_offering(types.Tool(name="weigh", input_schema=SCHEMA))) as (tool,):
        assert await tool.run(given) == f"weigh {given}"


async def test_arguments_may_have_any_names() -> None:
    async with mcp_tools(_offering(types.Tool(name="t", input_schema=OPEN))) as (tool,):
        given = {"self": 1, "arguments": 2, "not a word": 3, "class": 4, "connection": 5}
        assert await tool.run(given) == f"t {given}"


@pytest.mark.timeout(20)
async def test_a_schema_built_to_take_forever_takes_no_time() -> None:
    evil = {"pattern": "^(a+)+$", "format": "regex"}
    doubling = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema = {
        "type": "object",
        "properties": {"a": evil, "b": {"$ref": "#/$defs/d0"}},
        "patternProperties": {"^(a+)+$": {}},
        "$defs": doubling | {"d40": {}},
    }
    given = {"a": "a" * 60 + "!", "b": 1, "a" * 60 + "!": 1}
    part = types.TextContent(text="done")
    slow = types.CallToolResult(content=[part], structured_content={"x": "a" * 60 + "!"})
    async with mcp_tools(_offering(types.Tool(name="t", input_schema=schema))) as (tool,):
        assert await tool.run(given) == f"t {given}"
    assert "done" in await _answer(slow, type="object", properties={"x": evil})


PIXEL = base64.b64encode(b"\x89PNG" + b"x" * 6).decode()


@pytest.mark.parametrize(
    ("content", "structured", "text"),
    [
        (["one", "two"], None, "one\ntwo"),
        ([], None, "(no content)"),
        ([], {"a": [1, "é"]}, '{"a": [1, "é"]}'),
        (['{ "a": 1 }'], {"a": 1}, '{ "a": 1 }'),
        (["found 1 row"], {"rows": [1]}, 'found 1 row\n{"rows": [1]}'),
        (["5"], {"result": 5}, "5"),
        (["five"], {"result": "five"}, "five"),
        (["1", "2"], {"result": [1, 2]}, "1\n2"),
        (["a", "b"], {"result": ["a", "b"]}, "a\nb"),
        ([], {"result": []}, '{"result": []}'),
    ],
)
async def test_texts_are_joined_and_structured_content_is_shown_once(
    content: list[str], structured: Any, text: str
) -> None:
    blocks: list[types.ContentBlock] = [types.TextContent(text=part) for part in content]
    result = types.CallToolResult(content=blocks, structured_content=structured)
    assert await _answer(result) == text


async def test_content_that_is_not_text_is_described_by_type_and_size() -> None:
    blob = types.BlobResourceContents(uri="file:///a.zip", mime_type="application/zip", blob=PIXEL)
    bare = types.BlobResourceContents(uri="file:///b", blob="")
    text = types.TextResourceContents(uri="file:///a.txt", text="what it says")
    result = types.CallToolResult(
        content=[
            types.TextContent(text="see:"),
            types.ImageContent(data=PIXEL, mime_type="image/png"),
            types.AudioContent(data=PIXEL * 3_000, mime_type="audio/wav"),
            types.ResourceLink(name="more", uri="https://example.com/more"),
            types.EmbeddedResource(resource=text),
            types.EmbeddedResource(resource=blob),
            types.EmbeddedResource(resource=bare),
        ]
    )
    assert (await _answer(result)).splitlines() == [
        "see:",
        "[image image/png, 10 bytes]",
        "[audio audio/wav, 35,998 bytes]",
        "[link more: https://example.com/more]",
        "[resource file:///a.txt]",
        "what it says",
        "[resource file:///a.zip application/zip, 10 bytes]",
        "[resource file:///b of no stated type, 0 bytes]",
    ]


async def test_an_image_stays_one_among_its_texts() -> None:
    png = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
    content: list[types.ContentBlock] = [
        types.TextContent(text="see:"),
        types.ImageContent(data=base64.b64encode(png).decode(), mime_type="image/png"),
    ]
    assert await _answer(types.CallToolResult(content=content)) == ["see:", Image(png)]


@pytest.mark.parametrize(
    ("texts", "message"),
    [(["no such city", "try Oslo"], "no such city\ntry Oslo"), ([], "an error without a message")],
)
async def test_an_error_result_is_advice_in_the_servers_words(
    texts: list[str], message: str
) -> None:
    blocks: list[types.ContentBlock] = [types.TextContent(text=text) for text in texts]
    with pytest.raises(ToolRetry, match=message):
        await _answer(types.CallToolResult(content=blocks, is_error=True))


async def test_a_server_that_asks_back_gets_a_typed_error() -> None:
    asking = types.InputRequiredResult(request_state="more, please")
    with pytest.raises(ToolServerError, match="asks for input during the call to 'answer'"):
        async with mcp_tools(_answering(lambda: asking)) as (tool,):
            await tool.run({})


async def test_calls_on_one_connection_run_side_by_side() -> None:
    meeting = asyncio.Barrier(20)
    server = MCPServer("meeting")

    @server.tool()
    async def meet(number: int) -> int:
        """Wait for all the others."""
        await meeting.wait()
        return number

    async with mcp_tools(server) as (tool,):
        answers = await asyncio.gather(*(tool.run({"number": number}) for number in range(20)))
    assert answers == [str(number) for number in range(20)]
