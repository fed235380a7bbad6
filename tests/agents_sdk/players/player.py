"""A program that plays given acts, for the `command` agent."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from acts import for_goal, plans, proposal


def receive():
    header = sys.stdin.buffer.read(4)
    return json.loads(sys.stdin.buffer.read(int.from_bytes(header, "big"))) if len(header) == 4 else None


def send(message):
    body = json.dumps(message).encode()
    sys.stdout.buffer.write(len(body).to_bytes(4, "big") + body)
    sys.stdout.buffer.flush()


left, found = [], []
while (message := receive()) is not None:
    if message["type"] == "hello":
        found = plans(message["options"]["acts"])
        send({"type": "ready", "version": 1})
    elif message["type"] == "start":
        left = list(for_goal(message["brief"]["goal"], found))
        send({"type": "started"})
    elif message["type"] == "observe":
        send({"type": "proposal", "proposal": proposal(left.pop(0))})
    else:
        break
