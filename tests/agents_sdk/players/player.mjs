// A program that plays given acts, for the `command` agent; the same as player.py.
import {readFileSync, readSync, writeSync} from "node:fs";

function bytes(count) {
  const buffer = Buffer.alloc(count);
  for (let got = 0; got < count;) {
    const more = readSync(0, buffer, got, count - got, null);
    if (more === 0) return null;
    got += more;
  }
  return buffer;
}

function receive() {
  const header = bytes(4);
  return header && JSON.parse(bytes(header.readUInt32BE()).toString());
}

function send(message) {
  const body = Buffer.from(JSON.stringify(message));
  const header = Buffer.alloc(4);
  header.writeUInt32BE(body.length);
  writeSync(1, Buffer.concat([header, body]));
}

let plans = [];
let left = [];
for (let message; (message = receive());) {
  if (message.type === "hello") {
    plans = JSON.parse(readFileSync(message.options.acts, "utf-8"));
    send({type: "ready", version: 1});
  } else if (message.type === "start") {
    left = [...plans.find((plan) => message.brief.goal.includes(plan.goal)).acts];
    send({type: "started"});
  } else if (message.type === "observe") {
    const {point, ...proposal} = left.shift();
    send({type: "proposal", proposal});
  } else break;
}
