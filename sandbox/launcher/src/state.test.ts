import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { reservePort } from "@klutch/engines";
import { openState } from "./state.ts";

const root = await mkdtemp(join(tmpdir(), "klutch-state-"));
after(() => rm(root, { recursive: true, force: true }));

test("a second start has the ports and passwords of the first; --reset makes new passwords and removes everything else", async () => {
  const folder = join(root, "kept");
  const states = [];
  for (const reset of [false, false, true]) {
    await using stack = new AsyncDisposableStack();
    states.push(await openState(folder, reset, stack));
    if (!reset) await writeFile(join(folder, "data"), "");
  }
  const [first, second, third] = states;
  assert.equal(first?.isKept, false);
  assert.deepEqual(second, { ...first, isKept: true });
  assert.equal(third?.isKept, false);
  assert.notEqual(third.secrets.postgresPassword, first.secrets.postgresPassword);
  await assert.rejects(stat(join(folder, "data")));
  assert.equal((await stat(join(folder, "sandbox.json"))).mode & 0o777, 0o600);
});

test("two sandboxes cannot use one folder, and --reset does not remove what a running one uses", async () => {
  const folder = join(root, "shared");
  await using stack = new AsyncDisposableStack();
  await openState(folder, false, stack);
  for (const reset of [false, true]) {
    await using other = new AsyncDisposableStack();
    await assert.rejects(openState(folder, reset, other), /another sandbox runs with .*shared/);
  }
  assert.ok((await readFile(join(folder, "sandbox.json"), "utf8")).length > 0);
});

test("a kept state that lacks what a newer version needs is completed", async () => {
  const folder = join(root, "old");
  const open = async () => {
    await using stack = new AsyncDisposableStack();
    return await openState(folder, false, stack);
  };
  const before = await open();
  const { backendProbe: _port, ...ports } = before.ports;
  const { cookieKey: _key, ...secrets } = before.secrets;
  await writeFile(join(folder, "sandbox.json"), JSON.stringify({ ports, secrets }));
  const now = await open();
  assert.equal(now.ports.dex, before.ports.dex);
  assert.equal(now.secrets.brokerKey, before.secrets.brokerKey);
  assert.ok(now.ports.backendProbe > 0);
  assert.ok(!Object.values(ports).includes(now.ports.backendProbe), "the new port is one of the kept ones");
  assert.ok(now.secrets.cookieKey !== "");
});

test("a state file that cannot be read is an error that says what to do", async () => {
  const folder = join(root, "broken");
  await using stack = new AsyncDisposableStack();
  await openState(folder, false, stack);
  await stack.disposeAsync();
  for (const text of ["{", "[]", '{"ports":{"dex":"many"}}']) {
    await writeFile(join(folder, "sandbox.json"), text);
    await using other = new AsyncDisposableStack();
    await assert.rejects(openState(folder, false, other), /(?:no state of a sandbox|invalid port); --reset /);
  }
});

test("a kept port that another program has taken is named", async () => {
  const folder = join(root, "taken");
  const first = new AsyncDisposableStack();
  const { ports } = await openState(folder, false, first);
  await first.disposeAsync();
  const squatter = createServer().listen(ports.dex, "127.0.0.1");
  await once(squatter, "listening");
  await using stack = new AsyncDisposableStack();
  await assert.rejects(
    openState(folder, false, stack),
    new RegExp(`another program uses port ${ports.dex} \\(dex\\) on loopback; stop it`),
  );
  squatter.close();
});

test("no other program is given a port while the sandbox runs, also before its server listens", async () => {
  const stack = new AsyncDisposableStack();
  const { ports } = await openState(join(root, "held"), false, stack);
  for (const port of Object.values(ports)) assert.equal(await reservePort(port), undefined, String(port));
  await stack.disposeAsync();
  await using reserved = await reservePort(ports.providerProbe);
  assert.deepEqual(reserved?.ports, [ports.providerProbe]);
});
