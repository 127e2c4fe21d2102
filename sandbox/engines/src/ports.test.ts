import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { isPortFree, reservePort, reservePorts } from "./ports.ts";

const module = JSON.stringify(join(import.meta.dirname, "ports.ts"));

test("ports reserved at the same time, here and in other processes, all differ", async () => {
  // The ports stay reserved as long as the process runs, so each waits for the others.
  const body = `import { reservePorts } from ${module}; console.log(JSON.stringify((await reservePorts(20)).ports));
    process.stdin.resume();`;
  const children = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ["--input-type=module", "-e", body], { stdio: ["pipe", "pipe", "inherit"] }),
  );
  const [first, second, ...printed] = await Promise.all([
    reservePorts(20),
    reservePorts(20),
    ...children.map(async (child) => String((await once(child.stdout, "data"))[0])),
  ]);
  for (const child of children) child.stdin.end();
  await using _first = first;
  await using _second = second;
  const theirs = printed.flatMap((text): unknown => JSON.parse(text));
  const all = [...first.ports, ...second.ports, ...theirs];
  assert.equal(all.length, 120);
  assert.equal(new Set(all).size, 120);
});

test("a port that somebody listens on is not given out", async () => {
  await using probe = await reservePorts(1);
  const [port = 0] = probe.ports;
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  assert.equal(await isPortFree(port), false);
  await probe[Symbol.asyncDispose]();
  await using reserved = await reservePorts(30);
  assert.ok(!reserved.ports.includes(port));
  server.close();
  await once(server, "close");
  assert.equal(await isPortFree(port), true);
});

test("a port of an earlier process is had again, unless somebody has it now", async () => {
  const reserved = await reservePorts(1);
  const port = reserved.ports[0] ?? 0;
  assert.equal(await reservePort(port), undefined, "it is reserved");
  await reserved[Symbol.asyncDispose]();
  {
    await using again = await reservePort(port);
    assert.deepEqual(again?.ports, [port]);
  }
  const other = createServer();
  other.listen(port, "127.0.0.1");
  await once(other, "listening");
  assert.equal(await reservePort(port), undefined, "somebody listens");
  other.close();
});

test("a port comes from the range, is none of those that are somebody's, and none that is taken on the address", async () => {
  const range = { first: 16_000, last: 16_499 };
  await using before = await reservePorts(1, { range });
  const [port = 0] = before.ports;
  assert.ok(port >= 16_000 && port <= 16_499);
  const others = new Set(Array.from({ length: 499 }, (_, index) => 16_001 + index));
  await using _first = await reservePort(16_000);
  await assert.rejects(
    reservePorts(1, { range, except: others }),
    /there is no free port from 16000 to 16499/,
  );
  await before[Symbol.asyncDispose]();
  const server = createServer().listen(port, "127.0.0.2");
  await once(server, "listening");
  assert.equal(await reservePort(port, { address: "127.0.0.2" }), undefined);
  server.close();
  await once(server, "close");
});

test("a port of a process that was killed is free at once", async () => {
  const body = `import { reservePorts } from ${module}; console.log((await reservePorts(1)).ports[0]);
    process.stdin.resume();`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", body], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const port = Number(String((await once(child.stdout, "data"))[0]));
  assert.equal(await reservePort(port), undefined);
  child.kill("SIGKILL");
  await once(child, "exit");
  await using again = await reservePort(port);
  assert.deepEqual(again?.ports, [port]);
});
