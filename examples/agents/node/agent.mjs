// An agent as a program of its own: it confirms an invoice, by what the page says. It needs nothing but Node.

const READ = { action_type: "read", decision_summary: "Read the page" };

/** One trial: what it has read and done so far. */
class Clerk {
  total = null;
  filled = false;
  sure = false;

  propose(page) {
    const last = page.last_result ?? { status: "success" };
    if (last.status !== "success") return finish("needs_help", `My last act ended as ${last.status}: ${last.message ?? ""}`);
    if (page.text.includes("invoice total confirmed")) {
      if (this.sure) return finish("success", `The total of the invoice is $${this.total}, and it is confirmed.`);
      this.sure = true;
      return READ;
    }
    if (page.text.includes("Confirm total")) {
      if (this.filled) return { action_type: "submit_form", target: { role: "button", name: "Confirm total" }, decision_summary: "Submit the confirmation" };
      this.filled = true;
      return { action_type: "fill", target: { label: "Invoice total" }, value: this.total.replaceAll(",", ""), decision_summary: "Fill in the total" };
    }
    if (this.total === null) {
      this.total = page.text.match(/Total\s+\$([\d,]+\.\d\d)/)?.[1] ?? null;
      return this.total === null ? finish("failure", "This page has no total.") : READ;
    }
    return { action_type: "click", target: { role: "link", name: "Confirm the total" }, decision_summary: "Open the confirmation form" };
  }
}

function finish(status, answer) {
  return { action_type: "finish", final_status: status, answer, decision_summary: answer.slice(0, 500) };
}

/** A message on the wire is four bytes of length (big-endian), then JSON in UTF-8. Standard output is for messages alone; console.error is fine. */
async function* messages(stream) {
  let kept = Buffer.alloc(0);
  for await (const part of stream) {
    kept = Buffer.concat([kept, part]);
    while (kept.length >= 4 && kept.length >= 4 + kept.readUInt32BE(0)) {
      const end = 4 + kept.readUInt32BE(0);
      yield JSON.parse(kept.subarray(4, end).toString("utf8"));
      kept = kept.subarray(end);
    }
  }
}

function send(message) {
  const body = Buffer.from(JSON.stringify(message), "utf8");
  const header = Buffer.alloc(4);
  header.writeUInt32BE(body.length);
  process.stdout.write(Buffer.concat([header, body]));
}

let clerk = null;
for await (const message of messages(process.stdin)) {
  if (message.type === "end") break;
  if (message.type === "hello") {
    send({ type: "ready", version: 1 });
  } else if (message.type === "start") {
    clerk = new Clerk();
    send({ type: "started" });
  } else {
    send({ type: "proposal", proposal: clerk.propose(message.observation) });
  }
}
