"""P4: one observation of ours against a PNG of Playwright's and the body's text (what deskcert-cli 0.1.5 takes); and 2,000 rows against 50."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from measure import Mode, Result, absolute, compare, measured
from playwright.async_api import Page as Tab
from raw import raw_browser, raw_page
from serve import served

from deskcert_adapters.executors.chromium.launch import Chromium
from deskcert_core.effect import Request
from deskcert_core.execution import BrowserPlan, Page, PagePlan, Verdict
from deskcert_core.proposal import ActionType, Proposal

BATCH = 8
FEW, MANY = 50, 2000
LAST = "INV-{:06}"
NO_BROWSERGYM = "against BrowserGym's get_obs (target 1/10): not measured here, BrowserGym is not installed"


class Open:
    """Traffic that is let go: what is measured here is looking, not deciding."""

    async def decide(self, page: str, request: Request, body: bytes | None) -> tuple[int, Verdict]:
        return 0, Verdict(allow=True)

    def answered(self, page: str, number: int, status: int | None) -> None:
        pass


async def run(rounds: int, batch: int | None = None) -> Result:
    batch, slow = batch or BATCH, list[int]()
    with served() as server:
        async with executor() as chromium, raw_browser() as browser:
            pages = {count: await opened(chromium, f"{server.url}/rows/{count}") for count in (FEW, MANY)}
            tabs = {count: await raw_page(browser) for count in (FEW, MANY)}
            for count, tab in tabs.items():
                await tab.goto(f"{server.url}/rows/{count}")
            modes = {f"ours {count}": ours(pages[count], count, slow) for count in pages} | {f"usual {count}": usual(tabs[count], count) for count in tabs}
            costs = await measured(modes, rounds=rounds, batch=batch, without=[server.pid])
    figures = [
        *compare(costs, f"ours {FEW}", f"usual {FEW}", wall=0.6), *compare(costs, f"ours {MANY}", f"ours {FEW}", wall=2.0),
        *compare(costs, f"ours {MANY}", f"usual {MANY}"),
    ]
    return Result(figures=(*figures, *absolute(costs)), notes=(
        "usual = page.screenshot(type=png), then locator('body').inner_text(); ours = the executor's observe: url, title, text and JPEG",
        f"a round is {batch} observations of each; {len(slow)} of ours fell back to the slow picture", NO_BROWSERGYM,
    ))


@asynccontextmanager
async def executor() -> AsyncIterator[Chromium]:
    chromium = Chromium()
    await chromium.start(BrowserPlan(), Open())
    try:
        yield chromium
    finally:
        await chromium.close()


async def opened(chromium: Chromium, url: str) -> Page:
    page = await chromium.open(PagePlan(name=url))
    proposal = Proposal(action_type=ActionType.GOTO, url=url)
    result = await page.act(proposal, await page.ground(proposal), {})
    await page.settle()
    if result.status != "success":
        raise RuntimeError(f"{url} did not open: {result.message}")
    return page


def ours(page: Page, count: int, slow: list[int]) -> Mode:
    async def look() -> None:
        seen = await page.observe()
        whole(seen.text, seen.screenshot, count)
        if seen.fell_back:
            slow.append(count)

    return look


def usual(tab: Tab, count: int) -> Mode:
    async def look() -> None:
        picture = await tab.screenshot(type="png")
        whole(await tab.locator("body").inner_text(), picture, count)

    return look


def whole(text: str, picture: bytes | None, count: int) -> None:
    if not picture or LAST.format(count) not in text:
        raise RuntimeError("an observation without picture or without the last row: the figures would mean nothing")
