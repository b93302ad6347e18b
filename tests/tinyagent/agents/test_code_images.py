"""What a code agent's model sees: plots of its code, files, and images that tools return."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.coding import block, coder, each_level, observed

from tinyagent import (
    AnthropicModel,
    Image,
    Model,
    OpenAIModel,
    Sandbox,
    ScriptedModel,
    TinyCodeAgent,
    TrustLevel,
)
from tinyagent.agents.code_prompt import MAX_BYTES, png_size, shown_to_model
from tinyagent.core.execution import Artifact
from tinyagent.memory import MemoryManager, prune_old_observations, token_budget
from tinyagent.memory.steps import ActionStep, TaskStep
from tinyagent.models import OpenAIResponsesModel
from tinyagent.testing import StrictServer

PLOT = """
    import matplotlib.pyplot as plt
    plt.plot([1, 2, 3], [120, 80, 190])
    plt.title('Sales')
"""
SAVED = """
    import matplotlib.pyplot as plt
    plt.plot([1, 2, 3])
    plt.savefig('sales.png')
"""
ANSWER = "final_answer('190')"
MODELS: dict[str, Callable[[str], Model]] = {
    "openai": lambda url: OpenAIModel("gpt-4.1", base_url=url, api_key="k", provider="openai"),
    "openai-responses": lambda url: OpenAIResponsesModel(
        "gpt-5.5", base_url=url, api_key="k", provider="openai"
    ),
    "gemini": lambda url: OpenAIModel("gemini-3-pro", base_url=url, api_key="k", provider="gemini"),
}


def _options(level: TrustLevel) -> dict[str, Any]:
    return {"sandbox": Sandbox(level, imports="matplotlib" if level is TrustLevel.LOCAL else ())}


def _images(model: ScriptedModel, request: int = -1) -> list[Image]:
    messages = model.requests[request].messages
    return [part for each in messages for part in each.parts if isinstance(part, Image)]


def _png(width: int = 1, padding: int = 0) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return len(body).to_bytes(4) + kind + body + zlib.crc32(kind + body).to_bytes(4)

    head = width.to_bytes(4) + (1).to_bytes(4) + b"\x08\0\0\0\0"
    pixels = zlib.compress(b"\0" * (width + 1))
    text = chunk(b"tEXt", b"x" * padding)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + text
        + chunk(b"IDAT", pixels)
        + (chunk(b"IEND", b""))
    )


def _artifact(name: str, data: bytes) -> Artifact:
    return Artifact(name, data, "image/png")


@each_level
@pytest.mark.timeout(180)
async def test_a_plot_arrives_whole_at_the_next_step(level: TrustLevel) -> None:
    async with StrictServer("openai", [block(PLOT), block(ANSWER)]) as server:
        model = MODELS["openai"](server.base_url)
        result = await TinyCodeAgent(model, **_options(level)).run("Plot it")
        assert str(result) == "190"
        assert server.refusals == []
        (figure,) = result.artifacts
        assert figure.name == "step-1-figure-1.png"
        assert png_size(figure.data) is not None
        (seen,) = server.attachments
        assert (seen.media_type, seen.data) == ("image/png", figure.data)
        assert "image_url" not in json.dumps(server.requests[0])


@pytest.mark.parametrize("provider", ["openai-responses", "gemini"])
@pytest.mark.timeout(180)
async def test_a_plot_arrives_at_other_providers(provider: str) -> None:
    script = [block(PLOT), block(ANSWER)]
    async with StrictServer(provider.partition("-")[0], script) as server:
        model = MODELS[provider](server.base_url)
        result = await TinyCodeAgent(model, **_options(TrustLevel.LOCAL)).run("Plot it")
        assert server.refusals == []
        assert [seen.data for seen in server.attachments] == [result.artifacts[0].data]


@pytest.mark.timeout(180)
async def test_a_plot_arrives_at_anthropic(monkeypatch: pytest.MonkeyPatch) -> None:
    async with StrictServer("anthropic", [block(PLOT), block(ANSWER)]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        model = AnthropicModel("claude-sonnet-5", api_key="k")
        result = await TinyCodeAgent(model, **_options(TrustLevel.LOCAL)).run("Plot it")
        assert server.refusals == []
        assert [seen.data for seen in server.attachments] == [result.artifacts[0].data]


@pytest.mark.timeout(180)
async def test_a_saved_figure_is_shown_once_and_a_file_that_stays_is_not_shown_again() -> None:
    model = coder(SAVED, "x = 1", ANSWER)
    await TinyCodeAgent(model, vision=True).run("Plot it")
    assert observed(model, 1) == "(no output)\n[files: sales.png]\n[images shown to you: sales.png]"
    assert len(_images(model, 1)) == len(_images(model, 2)) == 1


async def test_a_model_without_vision_reads_that_and_is_sent_no_image() -> None:
    model = coder(PLOT, ANSWER)
    await TinyCodeAgent(model, **_options(TrustLevel.LOCAL)).run("Plot it")
    assert _images(model) == []
    assert observed(model).endswith(
        "[You cannot see images (step-1-figure-1.png). Print the numbers that you need.]"
    )


async def test_the_caller_may_say_that_a_model_does_not_see() -> None:
    async with StrictServer("openai", [block(PLOT), block(ANSWER)]) as server:
        model = MODELS["openai"](server.base_url)
        options = _options(TrustLevel.LOCAL)
        await TinyCodeAgent(model, vision=False, **options).run(["Plot it", Image(_png())])
        assert [seen.data for seen in server.attachments] == [_png()]  # what the user gave


def test_only_a_model_with_vision_reads_about_figures() -> None:
    sentence = "you see the Matplotlib figures"
    assert sentence in TinyCodeAgent(coder("1"), vision=True)._system_prompt
    assert sentence not in TinyCodeAgent(coder("1"))._system_prompt


async def test_a_figure_that_cannot_be_drawn_is_said() -> None:
    model = coder(f"{PLOT}\n    plt.title('$\\\\nothing$')", ANSWER)
    await TinyCodeAgent(model, **_options(TrustLevel.LOCAL)).run("Plot it")
    assert "an artifact could not be handed over (ValueError" in observed(model)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (_png(padding=MAX_BYTES), "bytes; at most 1,000,000 bytes"),
        (_png(2_001), "2,001 x 1 pixels"),
        (_png()[:-6], "not a complete PNG"),
        (_png().replace(b"IDAT", b"IDAX"), "not a complete PNG"),
        (b"GIF89a", "not a complete PNG"),
    ],
)
def test_what_a_provider_could_refuse_is_described(data: bytes, reason: str) -> None:
    shown, note = shown_to_model((), [_artifact("a.png", data)], (), plots=True)
    assert shown == ()
    assert note.startswith("[a.png is not shown: ")
    assert reason in note


def test_at_most_four_images_are_shown_after_a_block() -> None:
    made = [_artifact(f"{width}.png", _png(width)) for width in range(1, 7)]
    shown, note = shown_to_model((), made, (), plots=True)
    assert shown == tuple(Image(_png(width)) for width in range(1, 5))
    assert "[images shown to you: 1.png, 2.png, 3.png, 4.png]" in note
    assert "[6.png is not shown: at most 4 images are shown after a block]" in note


def test_no_image_is_sent_twice() -> None:
    earlier = ActionStep("", "plot()", "", attachments=(Image(_png()),))
    made = [_artifact("a.png", _png()), _artifact("b.png", _png(2)), _artifact("c.png", _png(2))]
    shown, note = shown_to_model((), made, [earlier], plots=True)
    assert shown == (Image(_png(2)),)
    assert "[a.png is not shown: the same image was shown before]" in note
    assert "[c.png is not shown: the same image was shown before]" in note


async def test_an_image_that_a_tool_returns_is_shown_and_the_code_is_given_words() -> None:
    def look() -> list[str | Image]:
        """Look at the picture."""
        return ["The picture:", Image(_png())]

    model = coder("print(look())", ANSWER)
    await TinyCodeAgent(model, [look]).run("Look")
    assert _images(model) == [Image(_png())]
    assert observed(model) == f"The picture:\n{Image(_png()).describe()}"


def _seen(number: int) -> ActionStep:
    when = datetime(2026, 1, number, tzinfo=UTC)
    image = Image(_png(number))
    return ActionStep("", f"plot({number})", "drawn", timestamp=when, attachments=(image,))


def test_a_step_keeps_its_images_in_json() -> None:
    memory = MemoryManager([TaskStep("Plot"), _seen(1)])
    again = MemoryManager.from_list(json.loads(json.dumps(memory.to_list())))
    assert again == memory
    assert again.to_messages()[-1].parts[-1] == Image(_png())


def test_pruning_drops_old_images_before_anything_else() -> None:
    memory = MemoryManager([TaskStep("Plot"), _seen(1), _seen(2), _seen(3)])
    memory.prune(token_budget(memory.tokens - 100))
    first, second, third = memory.steps[1:]
    assert isinstance(first, ActionStep)
    assert first.observation == f"drawn\n{Image(_png()).describe()}"
    assert first.attachments == ()
    assert (second, third) == (_seen(2), _seen(3))


def test_pruning_old_observations_drops_their_images() -> None:
    memory = MemoryManager([TaskStep("Plot"), _seen(1), _seen(2)])
    memory.prune(prune_old_observations(keep=1))
    kept = [part for each in memory.to_messages() for part in each.parts if isinstance(part, Image)]
    assert kept == [Image(_png(2))]
