import assert from "node:assert/strict";
import { after, test } from "node:test";
import { managedServiceBindings, serviceInstances } from "@klutch/api";
import { waitFor } from "@klutch/kube-testing";
import { Client } from "pg";
import { brokerError } from "./testing/front.ts";
import { binding, instance, startFixture } from "./testing/fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("rotation"));
const { client, front } = fixture;
const ready = { type: "Ready", status: "True" };
stack.defer(fixture.run());
await client.create(serviceInstances, instance("db"));
await fixture.condition(serviceInstances, "db", ready);

interface Reader extends AsyncDisposable {
  readonly failures: readonly unknown[];
  /** Number of its requests that were answered. */
  readonly queries: () => number;
}

/** Queries until it is disposed, with a new connection each time, by the Secret as it is then. */
function startClient(name: string): Reader {
  const failures: unknown[] = [];
  let queries = 0;
  let isStopped = false;
  const running = (async () => {
    while (!isStopped) {
      const { uri = "" } = await fixture.credentials(name);
      try {
        await fixture.sql(uri, "select 1");
        queries++;
      } catch (error) {
        failures.push(error);
      }
    }
  })();
  return {
    failures,
    queries: () => queries,
    async [Symbol.asyncDispose]() {
      isStopped = true;
      await running;
    },
  };
}

async function edit(name: string, forProvider: object): Promise<void> {
  await client.mergePatch(managedServiceBindings, { name }, { spec: { forProvider } });
}

async function isRotated(name: string, request: string): Promise<void> {
  await waitFor(`${name} to be rotated as ${request}`, async () => {
    const { rotation } = await fixture.atProvider(managedServiceBindings, name);
    return JSON.stringify(rotation)?.includes(`"request":"${request}"`) === true;
  });
}

/** Logins of bindings that the server has. */
async function logins(): Promise<number> {
  const statement = "select 1 from pg_roles where rolcanlogin and rolname ~ '^u[0-9a-f]{32}$'";
  return (await fixture.sql(fixture.broker.postgres.url, statement)).length;
}

const refused = /password authentication failed|does not exist|not permitted to log in/;

test("a client that reads the Secret again never fails while credentials are rotated twice, and the old logins end", async () => {
  await client.create(managedServiceBindings, binding("app", "db"));
  await fixture.condition(managedServiceBindings, "app", ready);
  const before = await logins();
  const first = await fixture.credentials("app");
  const lasting = new Client({ connectionString: first["uri"] });
  lasting.on("error", () => undefined);
  await lasting.connect();
  await using reader = startClient("app");
  await edit("app", { rotate: "1", rotateGraceSeconds: 3_600 });
  await isRotated("app", "1");
  const second = await fixture.credentials("app");
  await edit("app", { rotate: "2" });
  await isRotated("app", "2");
  const third = await fixture.credentials("app");
  assert.equal(new Set([first, second, third].map(({ password }) => password)).size, 3);
  // All of them work, also in a connection that is open.
  for (const { uri = "" } of [first, second, third])
    assert.deepEqual(await fixture.sql(uri, "select 1 as one"), [{ one: 1 }]);
  assert.equal((await lasting.query("select 1")).rowCount, 1);
  await lasting.end();
  assert.equal(await logins(), before + 2);
  await edit("app", { rotateGraceSeconds: 0 });
  for (const { uri = "" } of [first, second])
    await waitFor("an old login to end", async () => {
      await assert.rejects(fixture.sql(uri, "select 1"), refused);
      return true;
    });
  const queries = reader.queries();
  await waitFor("one more answer", () => reader.queries() > queries);
  assert.deepEqual(reader.failures, []);
  assert.deepEqual(await fixture.sql(third["uri"] ?? "", "select 1 as one"), [{ one: 1 }]);
  await waitFor("one login to be left", async () => (await logins()) === before);
  // The status follows when the broker has answered.
  await waitFor("the status to name no old login", async () => {
    const { rotation } = await fixture.atProvider(managedServiceBindings, "app");
    assert.match(JSON.stringify(rotation), /^\{"request":"2","rotatedAt":"[^"]+"\}$/);
    return true;
  });
});

test("what one login made, the next one can change", async () => {
  const { uri = "" } = await fixture.credentials("app");
  await fixture.sql(uri, "create table kept (id int)");
  await edit("app", { rotate: "3" });
  await isRotated("app", "3");
  const { uri: next = "" } = await fixture.credentials("app");
  assert.notEqual(next, uri);
  await fixture.sql(next, "alter table kept add column name text");
  await waitFor("the old login to end", async () => {
    await assert.rejects(fixture.sql(uri, "select 1"), refused);
    return true;
  });
  await fixture.sql(next, "insert into kept values (1, 'a')");
});

test("a broker that refuses leaves the old login as it is, and the condition says why", async () => {
  const { uri = "" } = await fixture.credentials("app");
  const ofBinding = (path: string): boolean => path.includes("/service_bindings/");
  front.lie = ({ method, path }) =>
    method === "PUT" && ofBinding(path) ? brokerError(422, "Full", "no more logins") : undefined;
  await edit("app", { rotate: "4" });
  const message = /^the credentials could not be rotated: Full: no more logins$/;
  const synced = { type: "Synced", status: "False", message };
  assert.equal((await fixture.condition(managedServiceBindings, "app", synced)).reason, "RotationIncomplete");
  await fixture.condition(managedServiceBindings, "app", ready);
  assert.deepEqual(await fixture.sql(uri, "select 1 as one"), [{ one: 1 }]);
  front.lie = undefined;
  await edit("app", { rotate: "5" });
  await isRotated("app", "5");
});

test("answers that are lost in a rotation leave no login that no one knows", async () => {
  const ids = new Set<string>();
  let lies = 3;
  front.lie = ({ method, path }) => {
    if (!path.includes("/service_bindings/") || method !== "PUT") return undefined;
    ids.add(path);
    return lies-- > 0 ? { status: 201, body: "<html>", forward: true, comes: "end" } : undefined;
  };
  await edit("app", { rotate: "6" });
  await waitFor("the lies to end", () => lies < 0, { timeoutMs: 90_000 });
  await isRotated("app", "6");
  front.lie = undefined;
  assert.equal(ids.size, 1);
  await waitFor("one login to be left", async () => (await logins()) === 1);
});

test("a binding that is deleted in a rotation leaves no login", async () => {
  await edit("app", { rotate: "7", rotateGraceSeconds: 3_600 });
  await isRotated("app", "7");
  await edit("app", { rotate: "8" });
  await client.delete(managedServiceBindings, { name: "app" });
  await fixture.gone(managedServiceBindings, { name: "app" });
  assert.equal(await logins(), 0);
  await client.delete(serviceInstances, { name: "db" });
  await fixture.gone(serviceInstances, { name: "db" });
});
