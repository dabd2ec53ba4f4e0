// One foreign Redlock client, led by a line of JSON per request on standard
// input: {"op": "lock" | "extend" | "unlock", "key", "ttl"}. It answers each
// with a line {"ok": true} or {"error": text}. It ends with its input.
//
//   node client.mjs redlock|redlock4 host:port …
import { createInterface } from "node:readline";
import { Redis } from "ioredis";

const [library, ...nodes] = process.argv.slice(2);
const clients = nodes.map((node) => {
  const [host, port] = node.split(":");
  return new Redis({ host, port: Number(port) });
});
// The releases differ in how they are loaded, and in the names of the calls.
const loaded = await import(library);
const Redlock = loaded.default.default ?? loaded.default;
const redlock = new Redlock(clients, { retryCount: 0 });
redlock.on("error", () => {}); // every refusal is reported here, too
const names = {
  redlock: { lock: (key, ttl) => redlock.acquire([key], ttl), unlock: (lock) => lock.release() },
  redlock4: { lock: (key, ttl) => redlock.lock(key, ttl), unlock: (lock) => lock.unlock() },
}[library];

const held = new Map();
const ops = {
  lock: async ({ key, ttl }) => held.set(key, await names.lock(key, ttl)),
  extend: async ({ key, ttl }) => held.set(key, await held.get(key).extend(ttl)),
  unlock: async ({ key }) => names.unlock(held.get(key)),
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  let answer = { ok: true };
  try {
    await ops[request.op](request);
  } catch (error) {
    answer = { error: String(error.message ?? error) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
clients.forEach((client) => client.disconnect());
