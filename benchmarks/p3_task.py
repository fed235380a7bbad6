"""P3: the six steps of examples/invoice with full evidence behind the request gate, against the same six steps in plain Playwright."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from measure import Mode, Result, absolute, compare, measured
from playwright.async_api import Browser as Driven
from raw import raw_browser, raw_page
from serve import INVOICE, served

from deskcert_core.execution import Browser, BrowserInfo, BrowserPlan, Page, PagePlan, Seen, Traffic
from deskcert_core.judging import judge_run
from deskcert_core.loading import load_suite
from deskcert_core.session.run import Run, RunOptions

BATCH = 3
TASK = "confirm-invoice"
SUCCESS = "Success: invoice total confirmed."
NO_SWITCH = "without pictures: the session has no switch for it; here its browser is wrapped so that no look takes a picture"


class Blind:
    """A browser whose pages take no pictures."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    async def start(self, plan: BrowserPlan, traffic: Traffic) -> BrowserInfo:
        return await self._browser.start(plan, traffic)

    async def open(self, plan: PagePlan) -> Page:
        page = await self._browser.open(plan)
        look = page.observe

        async def observe(*, picture: bool = True) -> Seen:
            return await look(picture=False)

        page.observe = observe  # type: ignore[method-assign]
        return page

    async def close(self) -> None:
        await self._browser.close()


async def run(rounds: int, batch: int | None = None) -> Result:
    batch = batch or BATCH
    with served() as server, tempfile.TemporaryDirectory(prefix="deskcert-bench-") as folder:
        suite = copied(Path(folder) / "suite", server.url)
        async with product(suite, Path(folder) / "runs") as opened, raw_browser() as browser:
            modes = {"raw": raw(browser, server.url), **trials(opened)}
            costs = await measured(modes, rounds=rounds, batch=batch, without=[server.pid])
        notes = checked(opened.folder.path)
    against = compare(costs, "deskcert", "raw", wall=1.7, cpu=1.6) + compare(costs, "no pictures", "raw", wall=1.2, cpu=1.2)
    return Result(figures=(*against, *absolute(costs)), notes=(*notes, NO_SWITCH, f"a round is {batch} tasks of each; context and page are new for every task"))


def copied(target: Path, url: str) -> Path:
    """The example's suite, pointed at the running application. Without `reset`: it starts a Python, which is the suite's cost and not DeskCert's."""
    shutil.copytree(INVOICE, target, ignore=shutil.ignore_patterns("runs", "__pycache__"))
    file = target / "deskcert.yaml"
    text = re.sub(r"\n    (serve|reset):.*", "", file.read_text())
    file.write_text(text.replace("http://127.0.0.1:${port}", url))
    return target


@asynccontextmanager
async def product(suite: Path, out: Path) -> AsyncIterator[Run]:
    """A run that is open: browser, gate, canary, journals. Its crew does trials as often as it is asked."""
    started = datetime.now(UTC)
    async with AsyncExitStack() as stack:
        opened = Run(load_suite(suite), RunOptions(agent="scripted", out=out, approver="auto", tasks=(TASK,)), lambda _: None, "bench")
        await opened.open(stack, started)
        yield opened
        await opened.crew.close()


def trials(opened: Run) -> dict[str, Mode]:
    numbers, task, seeing = count(1), opened.tasks[0], opened.crew.browser

    async def with_pictures() -> None:
        opened.crew.browser = seeing
        await opened.crew.trial(task, next(numbers))

    async def without() -> None:
        opened.crew.browser = Blind(seeing)
        await opened.crew.trial(task, next(numbers))

    return {"deskcert": with_pictures, "no pictures": without}


def raw(browser: Driven, url: str) -> Mode:
    async def task() -> None:
        page = await raw_page(browser)
        await page.goto(f"{url}/index.html")
        total = await page.locator("body").inner_text()
        await page.get_by_role("link", name="Confirm the total").click()
        await page.get_by_label("Invoice total").fill("1248.92")
        await page.get_by_role("button", name="Confirm total").click()
        await page.wait_for_url("**/success.html")
        answer = await page.locator("body").inner_text()
        await page.context.close()
        if "$1,248.92" not in total or SUCCESS not in answer:
            raise RuntimeError("plain Playwright did not do the task: the figures would mean nothing")

    return task


def checked(folder: Path) -> tuple[str, ...]:
    """A trial that failed, or left out what it costs to record, would make a good ratio. Raises RuntimeError."""
    report = judge_run(folder)
    if wrong := [card.trial for card in report.card.trials if card.verdict != "PASS" or card.steps_taken != 6]:
        raise RuntimeError(f"trials {wrong} did not pass in six steps: the figures would mean nothing")
    pictures = [len({look.screenshot for look in trial.looks if look.screenshot}) for trial in report.evidence]
    seeing, blind = [n for n in pictures if n], pictures.count(0)
    fewest = min(len(trial.requests) for trial in report.evidence)
    slow = sum(path.read_bytes().count(b'"fell_back":true') for path in folder.glob("trials/*/*/journal.jsonl"))
    return (
        f"{len(pictures)} trials judged PASS in 6 steps: {len(seeing)} with {min(seeing)} to {max(seeing)} different pictures, {blind} without; "
        f"at least {fewest} requests decided by the gate in each; {slow} pictures taken the slow way",
    )
