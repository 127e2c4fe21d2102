/** Announcements follow offers, exports and rights; an API server that does not say changes nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ClusterBinding, clusterBindings } from "@klutch/api";
import { namespaces } from "@klutch/kube-core";
import { ApiServerModel, namespaceObject, VirtualClock } from "@klutch/kube-testing";
import { silentLogger } from "@klutch/telemetry";
import { createMayAdd, type MayAdd } from "../authorization/additions.ts";
import type { MayBind } from "../authorization/bind-rights.ts";
import { createAnnouncementReconcile } from "./announcements.ts";

const namespace = "cluster-a";
const call = { signal: new AbortController().signal, logger: silentLogger } as never;
const offer = (resource: string, more: object = {}): object => ({
  group: "example.org",
  resource,
  kind: "Thing",
  description: "A thing.\u001b[31m More.",
  permissionClaims: [],
  template: { namespace: "default", name: resource },
  ...more,
});

async function start(mayAdd: MayAdd): Promise<{
  readonly reconcile: () => Promise<unknown>;
  readonly words: () => unknown;
  readonly shown: () => unknown;
  readonly clock: VirtualClock;
  offers: readonly object[];
  bound: readonly string[];
  readonly drop: () => Promise<unknown>;
  /** Number of announcements that were written. */
  writes: number;
  /** True for a schema without the field `price`. */
  dropsPrices: boolean;
}> {
  const clock = new VirtualClock();
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  server.register({ type: clusterBindings, statusSubresource: true });
  const client = server.client({ clusterName: "control plane" });
  await client.create(namespaces, namespaceObject(namespace));
  const ref = { namespace, name: "cluster" };
  await client.create(clusterBindings, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "ClusterBinding",
    metadata: ref,
  });
  const binding = (): ClusterBinding => server.objects(clusterBindings)[0] as unknown as ClusterBinding;
  const world = {
    clock,
    offers: [offer("databases"), offer("queues"), offer("topics", { permissionClaims: [{}] })],
    bound: ["databases.example.org"],
    words: () => binding().status?.newAPIs,
    shown: () => binding().status?.newAPIs?.map(({ resource }) => resource),
    drop: () =>
      client.mergePatch(clusterBindings, ref, { status: { newAPIs: null } }, { subresource: "status" }),
    reconcile: () => reconcile(`${namespace}/cluster`, call),
    writes: 0,
    dropsPrices: false,
  };
  const mergePatch = (type: never, at: never, patch: object, options: never): Promise<unknown> => {
    world.writes++;
    const { status } = patch as { readonly status: { readonly newAPIs: readonly object[] | null } };
    const newAPIs = status.newAPIs?.map((api) => ({ ...api, price: undefined }));
    return client.mergePatch(type, at, world.dropsPrices ? { status: { newAPIs } } : patch, options);
  };
  const { reconcile } = createAnnouncementReconcile({
    client: { mergePatch },
    clock,
    caches: {
      bindings: { get: binding },
      exports: { byIndex: () => world.bound.map((name) => ({ metadata: { name } })) },
    },
    exportTemplates: { list: () => world.offers },
    mayAdd,
  } as never);
  return world;
}

test("what may be bound and is not is announced with bounded words; it ends with the binding, the offer or the right", async () => {
  let allowed: readonly string[] = ["databases", "queues", "topics"];
  const world = await start((_namespace, { name }) => Promise.resolve(allowed.includes(name)));
  await world.reconcile();
  assert.deepEqual(world.words(), [
    { group: "example.org", resource: "queues", kind: "Thing", description: "A thing." },
    {
      group: "example.org",
      resource: "topics",
      kind: "Thing",
      description: "A thing.",
      asksPermissions: true,
    },
  ]);
  const change = async (then: readonly string[] | undefined): Promise<void> => {
    await world.reconcile();
    assert.deepEqual(world.shown(), then);
  };
  world.bound = [...world.bound, "queues.example.org"];
  await change(["topics"]);
  allowed = [];
  await change(undefined);
  allowed = ["topics"];
  await change(["topics"]);
  world.offers = [];
  await change(undefined);
});

test("prices of the plans are announced in one bounded line, and change with them", async () => {
  const world = await start(() => Promise.resolve(true));
  const price = (plan: string, amount: string): object => ({
    plan,
    services: [],
    perMonth: { amount, currency: "EUR" },
  });
  const shown = async (prices: readonly object[]): Promise<string | undefined> => {
    world.offers = [offer("queues", { prices })];
    await world.reconcile();
    return (world.words() as readonly { readonly price?: string }[])[0]?.price;
  };
  assert.equal(
    await shown([price("small", "25.00"), price("big", "90.00")]),
    "small 25.00 EUR, big 90.00 EUR",
  );
  assert.equal(await shown([price("small\n\u001b[2J", "26.00")]), "small [2J 26.00 EUR");
  const many = await shown(Array.from({ length: 1_000 }, (_, index) => price(`plan-${index}`, "1.00")));
  assert.match(many ?? "", /^plan-0 1\.00 EUR, .*, \d+ more$/);
  assert.ok((many ?? "").length <= 400);
  assert.equal(await shown([]), undefined);
});

test("a kind of an earlier release, whose schema drops a field, is not written again and again", async () => {
  const world = await start(() => Promise.resolve(true));
  const perMonth = { amount: "1.00", currency: "EUR" };
  world.offers = [offer("queues", { prices: [{ plan: "small", services: [], perMonth }] })];
  world.dropsPrices = true;
  for (let count = 0; count < 5; count++) {
    await world.reconcile();
    await world.clock.advance(120_000);
  }
  assert.deepEqual([world.shown(), world.writes], [["queues"], 1]);
  await world.drop();
  await world.reconcile();
  assert.deepEqual([world.shown(), world.writes], [["queues"], 2], "what a konnector dropped comes back");
});

test("an API server that does not say who may bind leaves the last announcement", async () => {
  let answer: () => Promise<boolean> = () => Promise.resolve(true);
  const world = await start(() => answer());
  await world.reconcile();
  answer = () => Promise.reject(new Error("down"));
  await world.clock.advance(60_000);
  await assert.rejects(world.reconcile(), /down/);
  assert.deepEqual(world.shown(), ["queues", "topics"]);
});

test("a konnector that drops the field gets it back once a minute, and 10,000 offers are 64 announcements", async () => {
  const world = await start(() => Promise.resolve(true));
  world.offers = Array.from({ length: 10_000 }, (_, index) => offer(`a${index}`));
  await world.reconcile();
  assert.equal((world.shown() as readonly string[]).length, 64);
  await world.drop();
  const answer = (await world.reconcile()) as { readonly requeueAfterMs: number };
  assert.ok(answer.requeueAfterMs > 0 && answer.requeueAfterMs <= 60_000);
  assert.equal(world.shown(), undefined);
  await world.clock.advance(60_000);
  await world.reconcile();
  assert.equal((world.shown() as readonly string[]).length, 64);
});

const record = (user: string, boundAt: string, more: object = {}): never =>
  ({
    metadata: more,
    spec: { identity: { issuer: "i", subject: user, user, groups: ["team"] }, boundAt },
  }) as never;

test("the rights of the people who bound count, not of a revoked one, of at most eight, and none where an operator binds", async () => {
  const asked: string[] = [];
  const mayBind: MayBind = ({ user }) => Promise.resolve(asked.push(user) > 0 && user === "ann");
  let records = [record("ann", "2026-01-01T00:00:00Z"), record("bob", "2026-01-02T00:00:00Z")];
  const parts = { recordsIn: () => records, isOperators: (name: string) => name === "operators", mayBind };
  const mayAdd = createMayAdd(parts);
  const ask = (name = namespace): Promise<boolean> =>
    mayAdd(name, { namespace: "default", name: "queues" }, new AbortController().signal);
  assert.equal(await ask(), true);
  assert.deepEqual(asked, ["bob", "ann"]);
  assert.equal(await ask("operators"), false);
  records = [record("ann", "2026-01-01T00:00:00Z", { deletionTimestamp: "2026-01-03T00:00:00Z" })];
  assert.equal(await ask(), false);
  asked.length = 0;
  records = Array.from({ length: 1_000 }, (_, index) => record(`p${index}`, "2026-01-01T00:00:00Z"));
  assert.equal(await ask(), false);
  assert.equal(asked.length, 8);
  const open = createMayAdd({ ...parts, mayBind: undefined });
  assert.equal(await open(namespace, { namespace: "d", name: "n" }, new AbortController().signal), true);
});
