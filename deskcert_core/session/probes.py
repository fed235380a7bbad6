"""The facts that criteria asked for, fetched once a trial has ended: in the page, or from the application itself, out of the agent's reach."""

from __future__ import annotations

import asyncio
import json
import os
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deskcert_core.errors import DeskCertError
from deskcert_core.evidence.record import Probed
from deskcert_core.execution import Page
from deskcert_core.session.application import run_command
from deskcert_core.trial import Probe

__all__ = ["take"]

LARGEST = 1 << 20
URL_SECONDS = 30


async def take(probe: Probe, page: Page, root: Path, env: Mapping[str, str]) -> Probed:
    """One fact, or the reason why it could not be had. Never raises for a fact that cannot be had."""
    try:
        value = await value_of(probe, page, root, {**os.environ, **env})
    except (OSError, ValueError, RuntimeError, DeskCertError) as error:
        return Probed(name=probe.kind, params=dict(probe.params), problem=str(error) or type(error).__name__)
    return Probed(name=probe.kind, params=dict(probe.params), value=value)


async def value_of(probe: Probe, page: Page, root: Path, env: Mapping[str, str]) -> Any:
    match probe.kind:
        case "element":
            return await page.exists(str(probe.params["selector"]))
        case "url_json":
            return await asyncio.to_thread(read_url, str(probe.params["url"]))
        case "command_json":
            words = probe.params["command"]
            if not isinstance(words, list):
                raise ValueError("the command is no list of words")
            return parse(await run_command(tuple(map(str, words)), root, env))


def read_url(url: str) -> Any:
    """Straight from here, not through the browser: its session, cache and gate are not part of the answer."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=URL_SECONDS) as answer:
        return parse(answer.read(LARGEST + 1))


def parse(data: bytes) -> Any:
    if len(data) > LARGEST:
        raise ValueError(f"more than {LARGEST} bytes")
    return json.loads(data)
