import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { namesOf, userOf } from "../names.ts";
import { pack } from "./archive.ts";
import {
  admit,
  backUpHost,
  type Call,
  dropHost,
  finishRestore,
  isRestoring,
  makeHost,
  readDefinitions,
  restoreHost,
} from "./rabbitmq-definitions.ts";

const empty = { exchanges: [], queues: [], bindings: [], policies: [], parameters: [] };

test("definitions are those of one virtual host, without users, other virtual hosts and the limits of a plan", () => {
  const limits = { component: "vhost-limits", name: "limits", value: { "max-queues": 1000 } };
  const shovel = { component: "shovel", name: "s", value: {} };
  const given = {
    ...empty,
    rabbit_version: "3.10.8",
    users: [{ name: "mallory", tags: "administrator" }],
    vhosts: [{ name: "theirs" }],
    permissions: [{ user: "mallory", vhost: "theirs" }],
    queues: [{ name: "q", vhost: "theirs", durable: true }],
    parameters: [limits, shovel],
  };
  const queues = [{ name: "q", durable: true }];
  assert.deepEqual(readDefinitions(JSON.stringify(given)), { ...empty, queues, parameters: [shovel] });
});

test("a text that is no definitions is refused with what it lacks", () => {
  for (const [text, words] of [
    ["null", /no list exchanges/],
    ["[]", /no list exchanges/],
    [JSON.stringify({ ...empty, bindings: {} }), /no list bindings/],
    [JSON.stringify({ ...empty, queues: ["q"] }), /an entry of queues is no object/],
    [JSON.stringify({ ...empty, policies: [null] }), /an entry of policies is no object/],
  ] as const)
    assert.throws(() => readDefinitions(text), words);
  assert.throws(() => readDefinitions("no JSON"), SyntaxError);
});

/** The management API of a server with virtual hosts and users, which refuses exchanges of an unknown type. */
class Management {
  readonly hosts = new Map<string, Record<string, unknown>>();
  readonly users = new Map<string, string>();
  readonly permissions = new Set<string>();
  /** Calls after which the broker is killed. */
  lastsFor = Infinity;

  readonly call: Call = (method, path, body) => {
    if (this.lastsFor-- <= 0) return Promise.reject(new Error("killed"));
    const [, kind = "", name = "", last = ""] = path.split("/");
    const refused = this.#refusal(method, kind, name, body);
    if (refused !== undefined) return Promise.reject(new Error(refused));
    if (method === "GET") return Promise.resolve(JSON.stringify(this.hosts.get(name)));
    if (kind === "users") this.users.set(name, JSON.stringify(body));
    if (kind === "permissions") this.permissions.add(`${name}/${last}`);
    if (kind === "vhost-limits") this.hosts.set(name, { ...this.hosts.get(name), [last]: body });
    if (kind === "definitions") this.hosts.set(name, { ...this.hosts.get(name), ...body });
    if (kind === "vhosts" && method === "PUT") this.hosts.set(name, this.hosts.get(name) ?? { ...empty });
    if (kind === "vhosts" && method === "DELETE") {
      this.hosts.delete(name);
      for (const each of this.permissions) if (each.startsWith(`${name}/`)) this.permissions.delete(each);
    }
    return Promise.resolve("");
  };

  #refusal(method: string, kind: string, name: string, body: object | undefined): string | undefined {
    if (kind !== "vhosts" && kind !== "users" && !this.hosts.has(name))
      return `${method} ${kind}: no such host`;
    return kind === "definitions" && JSON.stringify(body ?? null).includes("no-such-type")
      ? "400"
      : undefined;
  }
}

const binding = { instanceId: "mine", id: "mine-1", salt: "salt" };
const { database } = namesOf("mine");
const login = userOf(binding.id);

/** A virtual host that was backed up and changed, and a neighbour. */
async function scene(path: string) {
  const server = new Management();
  const host = { name: database, home: join(path, database), connectionLimit: 20, secretKey: "key" };
  const neighbour = { ...host, name: "neighbour" };
  for (const each of [host, neighbour]) await makeHost(server.call, each);
  await admit(server.call, binding, host.secretKey);
  const set = (queue: string): void => {
    server.hosts.set(database, { ...server.hosts.get(database), queues: [{ name: queue }] });
  };
  set("old");
  const to = new PassThrough();
  const whole = buffer(to);
  await backUpHost(server.call, host, to, signal);
  const dump = await whole;
  set("new");
  const restore = (token: string, given: Buffer = dump): Promise<void> =>
    restoreHost(server.call, host, [binding], { token, signal, open: () => Readable.from([given]) });
  const queues = (): unknown => server.hosts.get(database)?.["queues"];
  const isOpen = (): boolean => server.permissions.has(`${database}/${login}`);
  return { server, host, restore, queues, isOpen };
}

const signal = AbortSignal.timeout(600_000);

test("a broker that is killed after any call of a restore leaves the old definitions, a refusal, or the new ones, and finishes it once", async () => {
  const path = await mkdtemp(join(tmpdir(), "klutch-definitions-"));
  try {
    const seen = new Set<string>();
    let isOver = false;
    for (let calls = 0; !isOver; calls++) {
      const { server, host, restore, queues, isOpen } = await scene(join(path, String(calls)));
      server.lastsFor = calls;
      isOver = await restore("token").then(
        () => true,
        () => false,
      );
      const state = isOpen() ? JSON.stringify(queues()) : "refused";
      seen.add(state);
      assert.ok(['[{"name":"new"}]', "refused", '[{"name":"old"}]'].includes(state), `${calls}: ${state}`);
      server.lastsFor = Infinity;
      const wasDecided = await isRestoring(host);
      await finishRestore(server.call, host);
      assert.deepEqual(queues(), [{ name: wasDecided || isOver ? "old" : "new" }], `${calls} calls`);
      assert.ok(isOpen());
      await restore("token");
      assert.deepEqual(queues(), [{ name: "old" }]);
      server.hosts.set(database, { ...server.hosts.get(database), queues: [{ name: "after" }] });
      await restore("token");
      await finishRestore(server.call, host);
      assert.deepEqual(queues(), [{ name: "after" }], "a restore takes place once");
      assert.deepEqual([...server.hosts.keys()].toSorted(), [database, "neighbour"].toSorted());
      await dropHost(server.call, host);
      assert.deepEqual([...server.hosts.keys()], ["neighbour"]);
    }
    assert.equal(seen.size, 3);
  } finally {
    await rm(path, { recursive: true });
  }
});

test("definitions that the server refuses change nothing", async () => {
  const path = await mkdtemp(join(tmpdir(), "klutch-definitions-"));
  try {
    const { host, restore, queues, isOpen, server } = await scene(path);
    const to = new PassThrough();
    const lie = buffer(to);
    const wrong = JSON.stringify({ ...empty, exchanges: [{ name: "a", type: "no-such-type" }] });
    await pack(path, (folder) => writeFile(join(folder, "definitions.json"), wrong), to, signal);
    await assert.rejects(restore("lie", await lie), /400/);
    assert.deepEqual(queues(), [{ name: "new" }]);
    assert.ok(isOpen() && !(await isRestoring(host)));
    assert.equal(server.hosts.size, 2);
  } finally {
    await rm(path, { recursive: true });
  }
});
