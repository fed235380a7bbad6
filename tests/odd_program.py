"""A program that speaks the agent protocol and misbehaves as its first word says. It imports nothing of DeskCert."""

import json
import os
import signal
import sys
import time
from pathlib import Path


def receive():
    header = sys.stdin.buffer.read(4)
    return json.loads(sys.stdin.buffer.read(int.from_bytes(header, "big"))) if len(header) == 4 else None


def send(message):
    raw(json.dumps(message).encode())


def raw(body):
    sys.stdout.buffer.write(len(body).to_bytes(4, "big") + body)
    sys.stdout.buffer.flush()


def finish(answer):
    send({"type": "proposal", "proposal": {"action_type": "finish", "final_status": "success", "answer": json.dumps(answer)}})


def propose(do, told, brief):
    match do:
        case "crash":
            print("the last word", file=sys.stderr, flush=True)
            os._exit(7)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "silent":
            time.sleep(600)
        case "prints":
            print("hello, here I am", flush=True)
            time.sleep(600)
        case "garbage":
            raw(b"\xff{not json")
        case "extra-key":
            send({"type": "proposal", "proposal": {"action_type": "read"}, "please": True})
        case "wrong-kind":
            send({"type": "started"})
        case "closes":
            os.close(1)
            time.sleep(600)
        case "fault":
            send({"type": "fault", "whose": "agent", "message": "I do not know"})
        case "model":
            send({"type": "fault", "whose": "model", "message": "529 overloaded"})
        case _:
            finish({"pid": os.getpid(), "argv": sys.argv[1:], "cwd": str(Path.cwd()), "env": dict(os.environ), "hello": told, "brief": brief})


def main():
    do, told, brief = sys.argv[1], {}, {}
    if do == "no-start":
        sys.exit("no such model")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while (message := receive()) is not None:
        match message["type"]:
            case "hello":
                told = message
                more = {"version": 2} if do == "old" else {"wants_script": True, "calls_model": True} if do == "says" else {}
                send({"type": "ready", "version": 1} | more)
            case "start":
                brief = message["brief"]
                if "pids" in told.get("options", {}):
                    Path(told["options"]["pids"]).write_text(str(os.getpid()))
                send({"type": "started"})
            case "observe":
                propose(do, told, brief)
            case "end":
                return


main()
