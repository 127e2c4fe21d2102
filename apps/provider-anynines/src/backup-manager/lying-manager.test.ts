/** Backup managers that lie, over real HTTP: only a fake tells these lies on demand. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test, type TestContext } from "node:test";
import type { Backup, Restore, ServiceInstance } from "@klutch/api";
import { type BackupManagerClient, createBackupManagerClient } from "@klutch/backup-manager";
import type { ExternalClient, Managed } from "@klutch/crossplane";
import { VirtualClock } from "@klutch/kube-testing";
import { BackupClient } from "../backup/external-client.ts";
import { InstanceLocks } from "./instance-locks.ts";
import { RestoreClient } from "../restore/external-client.ts";

const numberOfBackup = "anynines.crossplane.io/backup-id";
const numberOfRestore = "anynines.crossplane.io/restore-id";
const operation = "anynines.crossplane.io/broker-operation";
const minute = 60_000;

/** The manager's answers to `POST /instances/i/backups` and the like; text is sent as HTML. */
type Answers = Record<string, unknown>;

interface Manager {
  readonly client: BackupManagerClient;
  /** Method and path of each request. */
  readonly asked: string[];
}

async function startManager(t: TestContext, answers: Answers): Promise<Manager> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const what = `${request.method} ${request.url?.replace("/instances/i", "")}`;
    asked.push(what);
    const answer = answers[what];
    const status = answer === undefined ? 500 : 200;
    const type = typeof answer === "string" ? "text/html" : "application/json";
    response.writeHead(status, { "content-type": type });
    response.end(typeof answer === "string" ? answer : JSON.stringify(answer ?? {}));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const client = createBackupManagerClient({ url: `http://127.0.0.1:${address.port}`, timeoutMs: 5_000 });
  t.after(async () => {
    await client[Symbol.asyncDispose]();
    server.close();
  });
  return { client, asked };
}

function managed<M extends Managed>(kind: string, forProvider: object, annotations = {}): M {
  const object: unknown = {
    apiVersion: "dataservices.anynines.com/v1",
    kind,
    metadata: {
      name: kind.toLowerCase(),
      uid: kind,
      labels: { "crossplane.io/claim-namespace": "team" },
      annotations,
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    spec: { forProvider },
  };
  return object as M;
}

const instance: ServiceInstance = {
  ...managed<ServiceInstance>("ServiceInstance", { serviceName: "a9s-postgresql17", planName: "nano" }),
  status: { atProvider: { instanceId: "i", serviceId: "s", planId: "p", state: "provisioned" } },
};

/** The object at the API server, the provider's clients of it, and numbers that others have. */
class Story {
  readonly clock = new VirtualClock();
  readonly claimed = new Set<number>();
  readonly #manager: BackupManagerClient;
  #annotations: Readonly<Record<string, string>> = {};
  /** Duration of a write to the API server. */
  writeMs = 0;

  constructor(manager: BackupManagerClient) {
    this.#manager = manager;
  }

  get annotations(): Readonly<Record<string, string>> {
    return this.#annotations;
  }

  /** One reconcile; the error's text, or what was observed. */
  async backup(): Promise<string> {
    const backup = managed<Backup>("Backup", { instanceName: "db" }, this.#annotations);
    const instances = (): readonly ServiceInstance[] => [instance];
    const none = (): readonly string[] => [];
    return this.#reconcile(
      new BackupClient({
        ...this.#common(),
        managed: backup,
        instances,
        restoresInto: none,
        restoresOfThis: none,
      }),
    );
  }

  async restore(): Promise<string> {
    const restore = managed<Restore>("Restore", { backupName: "b" }, this.#annotations);
    const backup: Backup = {
      ...managed<Backup>("Backup", { instanceName: "db" }, { [numberOfBackup]: "7" }),
      status: { atProvider: { instanceId: "i", id: 7, status: "done" } },
    };
    return this.#reconcile(
      new RestoreClient({
        ...this.#common(),
        managed: restore,
        backups: () => [backup],
        instancesOf: () => [instance],
      }),
    );
  }

  #common() {
    return {
      manager: this.#manager,
      updateCriticalAnnotations: async (changes: Readonly<Record<string, string | undefined>>) => {
        this.clock.skew(this.writeMs);
        const written = Object.entries({ ...this.#annotations, ...changes });
        const kept = written.filter((entry): entry is [string, string] => entry[1] !== undefined);
        this.#annotations = Object.fromEntries(kept);
      },
      clock: this.clock,
      taken: { others: () => this.claimed, add: () => undefined },
      notice: () => undefined,
      locks: new InstanceLocks(() => true),
      applicant: () => ({ name: "it", uid: "it", key: "i", isOpen: false, open: [] }),
    };
  }

  async #reconcile(client: ExternalClient): Promise<string> {
    const { signal } = new AbortController();
    try {
      let observed = await client.observe({ signal });
      if (!observed.exists) {
        await client.create({ signal });
        observed = await client.observe({ signal });
      }
      return `${observed.ready} ${observed.message ?? ""}`;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
}

const [list, create] = ["GET /backups", "POST /backups"];
const done = (id: unknown, at = "2026-02-01T00:00:00Z"): object => ({ id, status: "done", triggered_at: at });

function count({ asked }: Manager, what: string): number {
  return asked.filter((one) => one === what).length;
}

test("a number that comes as text is a number", async (t) => {
  const manager = await startManager(t, { [list]: [], [create]: { id: "7" }, "GET /backups/7": done("7") });
  const story = new Story(manager.client);
  assert.match(await story.backup(), /^available/);
  assert.equal(story.annotations[numberOfBackup], "7");
});

test("an answer without a number is looked for in the list, and nothing is made twice", async (t) => {
  for (const answer of [{}, { id: null }, { id: 0 }, { id: "seven" }, "<html>welcome</html>", [7]]) {
    const answers: Answers = { [list]: [done(6)], [create]: answer, "GET /backups/7": done(7) };
    const manager = await startManager(t, answers);
    const story = new Story(manager.client);
    assert.match(await story.backup(), /cannot be used|not JSON/);
    answers[list] = [done(6), done(7)];
    assert.match(await story.backup(), /^available/);
    assert.equal(story.annotations[numberOfBackup], "7");
    assert.equal(count(manager, create), 1);
  }
});

test("numbers that fall are told by their times", async (t) => {
  const answers: Answers = { [list]: [done(10)], "GET /backups/4": done(4) };
  const manager = await startManager(t, answers);
  const story = new Story(manager.client);
  await story.backup();
  answers[list] = [done(10), done(4, "2026-02-01T00:00:01Z")];
  assert.match(await story.backup(), /^available/);
  assert.equal(story.annotations[numberOfBackup], "4");
});

test("a backup of somebody else in the list is not taken, in whichever instance it is", async (t) => {
  const answers: Answers = { [list]: [] };
  const manager = await startManager(t, answers);
  const story = new Story(manager.client);
  await story.backup();
  answers[list] = [done(9)];
  story.claimed.add(9);
  assert.match(await story.backup(), /^creating .*looked for/);
  assert.equal(story.annotations[numberOfBackup], undefined);
});

test("a number that another one has already is refused with words, and stays in doubt", async (t) => {
  const manager = await startManager(t, { [list]: [], [create]: { id: 9 } });
  const story = new Story(manager.client);
  story.claimed.add(9);
  assert.match(await story.backup(), /the number 9, which another managed resource has already/);
  assert.notEqual(story.annotations[operation], undefined);
  assert.equal(story.annotations[numberOfBackup], undefined);
});

test("a number that was in the list before is not taken: it is another backup, of older rows", async (t) => {
  const answers: Answers = { [list]: [done(6)], [create]: { id: 6 }, "GET /backups/7": done(7) };
  const manager = await startManager(t, answers);
  const story = new Story(manager.client);
  assert.match(await story.backup(), /the number 6, which it had before/);
  answers[list] = [done(6), done(7)];
  assert.match(await story.backup(), /^available/);
  assert.equal(story.annotations[numberOfBackup], "7");
  assert.equal(count(manager, create), 1);
});

test("a process that was held up after its intent does not call: another one may have looked for it and called", async (t) => {
  const manager = await startManager(t, { [list]: [], [create]: { id: 7 }, "GET /backups/7": done(7) });
  const story = new Story(manager.client);
  story.writeMs = minute;
  assert.match(await story.backup(), /took too long/);
  assert.equal(count(manager, create), 0);
  story.writeMs = 0;
  story.clock.skew(3 * minute);
  assert.match(await story.backup(), /^available/);
  assert.equal(count(manager, create), 1);
});

test("two entries with one number are one", async (t) => {
  const answers: Answers = { [list]: [], "GET /backups/7": done(7) };
  const manager = await startManager(t, answers);
  const story = new Story(manager.client);
  await story.backup();
  answers[list] = [done(7), done(7), { id: 7, status: "queued" }];
  assert.match(await story.backup(), /^available/);
  assert.equal(story.annotations[numberOfBackup], "7");
});

test("a list of 100,000 is read; one that is too long, no list, or half wrong stops before anything is made", async (t) => {
  const many = Array.from({ length: 100_000 }, (_, index) => ({ id: index + 1, status: "done" }));
  const answers: Answers = { [list]: many, [create]: { id: 100_001 }, "GET /backups/100001": done(100_001) };
  const story = new Story((await startManager(t, answers)).client);
  assert.match(await story.backup(), /^available/);
  const long = many.map((item) => ({ ...item, name: "x".repeat(80) }));
  for (const wrong of [long, {}, "<html>login</html>", [done(1), {}], [done(1), { id: 2 }], null]) {
    const manager = await startManager(t, { [list]: wrong, [create]: { id: 1 } });
    const stopped = new Story(manager.client);
    assert.match(await stopped.backup(), /too long|cannot be used|not JSON/);
    assert.equal(count(manager, create), 0);
    assert.equal(stopped.annotations[operation], undefined);
  }
});

test("an answer that tells of another backup changes nothing", async (t) => {
  const answers: Answers = { [list]: [], [create]: { id: 7 }, "GET /backups/7": done(8) };
  const story = new Story((await startManager(t, answers)).client);
  assert.match(await story.backup(), /the answer tells of backup 8/);
  assert.equal(story.annotations[numberOfBackup], "7");
});

test("a restore of another backup is not taken for ours, and one that says nothing of its backup may be ours", async (t) => {
  const restored = (id: number, backupId?: number): object => ({ ...done(id), backup_id: backupId });
  const answers: Answers = { "GET /restores": [], "POST /backups/7/restore": {} };
  const manager = await startManager(t, answers);
  const story = new Story(manager.client);
  await story.restore();
  answers["GET /restores"] = [restored(3, 6)];
  assert.match(await story.restore(), /^creating .*looked for/);
  story.clock.skew(minute);
  answers["GET /restores"] = [restored(3, 6), restored(4)];
  answers["GET /restores/4"] = restored(4);
  assert.match(await story.restore(), /^available/);
  assert.equal(story.annotations[numberOfRestore], "4");
  assert.equal(count(manager, "POST /backups/7/restore"), 1);
});
