"""Fifty pages of one server, each with an answer in progress."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import aiohttp
from tests.support.paced_model import HERE, PacedModel
from tests.support.page_socket import PageSocket, open_page
from tests.support.serving import Serving

PAGES = 50


async def test_each_answer_arrives_at_its_page(scripted: Serving, model: PacedModel) -> None:
    for number in range(PAGES):
        model.says(f"page {number}.", f"Begun for {number}. {HERE} Ended for {number}.")
    async with aiohttp.ClientSession() as http, AsyncExitStack() as stack:
        pages = [
            await stack.enter_async_context(open_page(http, scripted.url, "/ui/"))
            for _ in range(PAGES)
        ]
        async with asyncio.timeout(120):
            for number, page in enumerate(pages):
                await ask(page, f"This is page {number}.")
            await asyncio.to_thread(model.wait_until_held, PAGES)
            for number, page in enumerate(pages):
                await page.wait_for(f"Begun for {number}.")
            model.let_go()
            for number, page in enumerate(pages):
                await page.wait_for(f"Ended for {number}.")
        for number, page in enumerate(pages):
            others = (f"for {other}." for other in range(PAGES) if other != number)
            assert not any(other in page.heard for other in others)


async def ask(page: PageSocket, question: str) -> None:
    """Type a question and press Enter."""
    await page.fire("Message", "keydown", question)
