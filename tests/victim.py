"""A stand-in for a session with something to lose: it runs the malicious agent as told, then says what it noticed itself.

`python victim.py WORLD`, a JSON of what the agent is told, with `isolation` and `hidden`.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import sys
from typing import Any

from deskcert_core.agent import Brief, Observation
from deskcert_core.session import desk
from deskcert_core.session.agent_process import AgentProcess
from deskcert_core.session.endpoint import Endpoint
from deskcert_core.session.sandbox import Cell

SIGNALS: list[int] = []


async def main(world: dict[str, Any]) -> dict[str, object]:
    signal.signal(signal.SIGUSR1, lambda number, frame: SIGNALS.append(number))
    secret = ctypes.create_string_buffer(world["secret"].encode())
    held = os.open(world["held"], os.O_RDONLY)
    os.set_inheritable(held, True)
    read, write = os.pipe()
    os.write(write, b"from the parent's pipe")
    world |= {"pid": os.getpid(), "address": ctypes.addressof(secret), "fd": read}
    refused: list[str] = []
    gate = Endpoint(world["endpoint"], refused.append)
    await gate.start()
    cell = Cell(isolation=world["isolation"], hidden=tuple(world["hidden"]), gate=gate.socket)
    agent = await AgentProcess.start("malicious", "malicious_agent:Malicious", {"world": json.dumps(world)}, {}, 60, cell)
    try:
        await agent.begin(Brief(task_id="t", goal="", start_url="", max_steps=1))
        answer = (await agent.propose(Observation(step=1, url="", title="", text=""), 120)).answer
        await asyncio.sleep(0)
    finally:
        await agent.close()
        await gate.close()
    return {"tries": json.loads(answer or ""), "signals": len(SIGNALS), "approved": hasattr(desk, "APPROVED_BY_THE_AGENT"), "refused": refused}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
