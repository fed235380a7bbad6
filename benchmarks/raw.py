"""Plain Playwright, the base of comparison: the browser that DeskCert finds, without gate, policy or evidence."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, Page, async_playwright

from deskcert_adapters.executors.chromium.launch import Chromium
from deskcert_core.execution import BrowserPlan

WIDTH, HEIGHT = BrowserPlan().viewport


@asynccontextmanager
async def raw_browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=Chromium.find().path, headless=True, chromium_sandbox=os.geteuid() != 0)
        yield browser
        await browser.close()


async def raw_page(browser: Browser) -> Page:
    """A page in a fresh context of the size that DeskCert uses."""
    return await browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1)
