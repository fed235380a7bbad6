"""An agent as a program of its own: it confirms an invoice, by what the page says. It needs nothing but Python."""

import json
import re
import sys

READ = {"action_type": "read", "decision_summary": "Read the page"}


def receive():
    """One message: four bytes of length (big-endian), then JSON in UTF-8. None at the end."""
    header = sys.stdin.buffer.read(4)
    return json.loads(sys.stdin.buffer.read(int.from_bytes(header, "big"))) if len(header) == 4 else None


def send(message):
    body = json.dumps(message).encode()
    sys.stdout.buffer.write(len(body).to_bytes(4, "big") + body)
    sys.stdout.buffer.flush()


class Clerk:
    """One trial: what it has read and done so far."""

    def __init__(self):
        self.total = None
        self.filled = self.sure = False

    def propose(self, page):
        last = page.get("last_result", {"status": "success"})
        if last["status"] != "success":
            return finish("needs_help", f"My last act ended as {last['status']}: {last.get('message', '')}")
        if "invoice total confirmed" in page["text"]:
            if not self.sure:
                self.sure = True
                return READ
            return finish("success", f"The total of the invoice is ${self.total}, and it is confirmed.")
        if "Confirm total" in page["text"]:
            if not self.filled:
                self.filled = True
                return {"action_type": "fill", "target": {"label": "Invoice total"}, "value": self.total.replace(",", ""), "decision_summary": "Fill in the total"}
            return {"action_type": "submit_form", "target": {"role": "button", "name": "Confirm total"}, "decision_summary": "Submit the confirmation"}
        if self.total is None:
            found = re.search(r"Total\s+\$([\d,]+\.\d\d)", page["text"])
            self.total = found and found[1]
            return READ if found else finish("failure", "This page has no total.")
        return {"action_type": "click", "target": {"role": "link", "name": "Confirm the total"}, "decision_summary": "Open the confirmation form"}


def finish(status, answer):
    return {"action_type": "finish", "final_status": status, "answer": answer, "decision_summary": answer[:500]}


def main():
    clerk = None
    while (message := receive()) is not None and message["type"] != "end":
        if message["type"] == "hello":
            send({"type": "ready", "version": 1})
        elif message["type"] == "start":
            clerk = Clerk()
            send({"type": "started"})
        else:
            send({"type": "proposal", "proposal": clerk.propose(message["observation"])})


if __name__ == "__main__":
    main()
