/** Many app clusters that log in at the same moment: work of the backend for each, and whom a new one waits for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { binderClusterRoleName, clusterBindingName, clusterBindings } from "@klutch/api";
import { clusterRoles, type Role } from "@klutch/kube-core";
import { type ModelledBackend, startModelledBackend } from "./testing/modelled-backend.ts";

const apis = 10;
const namesOf = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `login-${index}`);

/** The work for each login, until the backend rests. */
async function workFor(count: number): Promise<Record<"requests" | "exports" | "bindings", number>> {
  await using world = await startModelledBackend({ apis, atOnce: 4, requestMs: 10 });
  const before = {
    exports: await world.reconciles("exports"),
    bindings: await world.reconciles("clusterbindings"),
  };
  const logins = await world.logIn(namesOf(count));
  assert.ok(
    logins.every(({ allMs }) => allMs > 0),
    JSON.stringify(logins),
  );
  await world.clock.advance(15_000);
  const requests = world
    .takeRequests()
    .values()
    .reduce((sum, value) => sum + value, 0);
  return {
    requests: requests / count,
    exports: ((await world.reconciles("exports")) - before.exports) / count,
    bindings: ((await world.reconciles("clusterbindings")) - before.bindings) / count,
  };
}

test("a login costs the backend the same among others as alone: no more requests, and no looks at what others have", async (t) => {
  const [alone, among] = [await workFor(1), await workFor(8)];
  t.diagnostic(`alone ${JSON.stringify(alone)}, among 8 ${JSON.stringify(among)}`);
  // Three writes for each API, and those of the tenant.
  assert.ok(alone.requests <= 100, `${alone.requests} requests for one login`);
  assert.ok(among.requests <= alone.requests, `${among.requests} requests for each of 8 logins`);
  for (const one of [alone, among]) {
    assert.ok(one.exports <= 3 * apis, `${one.exports} looks at ${apis} exports`);
    assert.ok(one.bindings <= 2 * apis, `${one.bindings} looks at one ClusterBinding`);
  }
});

/** Changes the ClusterBinding of each of them, which is then looked at again. */
async function touch({ admin }: ModelledBackend, names: readonly string[], text: string): Promise<void> {
  const patch = { metadata: { labels: { touched: text } } };
  for (const namespace of names)
    await admin.mergePatch(clusterBindings, { namespace, name: clusterBindingName }, patch);
}

test("a new app cluster has its first rights before 20 known ones are looked at again, also when one of these says that it is new", async (t) => {
  await using world = await startModelledBackend({ apis: 1, atOnce: 1, requestMs: 100 });
  const known = namesOf(20);
  await world.logIn(known);
  await world.clock.advance(120_000);
  const [liar = "", ...honest] = known;
  await touch(world, honest, "once");
  // The status is all that an app cluster's account can write there.
  const ref = { namespace: liar, name: clusterBindingName };
  const lie = (): Promise<unknown> =>
    world.admin.mergePatch(clusterBindings, ref, { status: { conditions: null } }, { subresource: "status" });
  const lies = new AbortController();
  const lying = (async () => {
    for (; !lies.signal.aborted; await world.clock.sleep(50)) await lie();
  })();
  const [login] = await world.logIn(["newcomer"]);
  lies.abort();
  await world.clock.advance(100);
  await lying;
  t.diagnostic(`${login?.firstMs} ms`);
  // Six requests of its own, and those that were begun before by the four workers of each controller.
  assert.ok((login?.firstMs ?? Number.NaN) <= 5_000, `${login?.firstMs} ms`);
});

test("rights that another program widened are taken back, at the latest when the memory of them is over", async () => {
  await using world = await startModelledBackend({ apis: 1, atOnce: 4, requestMs: 1 });
  const [name = ""] = namesOf(1);
  await world.logIn([name]);
  const ref = { name: binderClusterRoleName(name) };
  const rulesOf = async (): Promise<string> =>
    JSON.stringify((await world.admin.get<Role>(clusterRoles, ref)).rules);
  const own = await rulesOf();
  await world.admin.mergePatch(clusterRoles, ref, {
    rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }],
  });
  await world.clock.advance(35_000);
  await touch(world, [name], "after");
  await world.clock.advance(1_000);
  assert.equal(await rulesOf(), own);
});

test("a tenant that is made again under the same name gets its objects again at once", async () => {
  await using world = await startModelledBackend({ apis: 1, atOnce: 4, requestMs: 1 });
  const [name = ""] = namesOf(1);
  await world.logIn([name]);
  await world.endTenant(name);
  const [again] = await world.logIn([name]);
  assert.ok((again?.allMs ?? Number.NaN) < 5_000, JSON.stringify(again));
});
