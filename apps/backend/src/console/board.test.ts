/** Rows of a board over objects that only these tests hold. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { appClusterBindingAnnotation, serviceNamespaceAnnotation } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { auditEvent, claimFacts, type Collection, type InstanceRow, type ProblemRow } from "@klutch/overview";
import { Board, type BoardParts } from "./board.ts";
import type { Rights } from "./rights.ts";

const at = "2026-11-28T12:00:00Z";

/** Plays the part of an informer that this board needs. */
function cacheOf(...objects: readonly object[]): unknown {
  const keyOf = (one: object): string => (one as DynamicObject).metadata.name ?? "";
  return {
    list: () => objects,
    get: (key: string) => objects.find((one) => keyOf(one) === key),
    byIndex: () => [],
    onChange: () => ({ [Symbol.dispose]: () => undefined }),
  };
}

function eventIn(namespace: string): object {
  return auditEvent({
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace, name: "told", creationTimestamp: at },
    involvedObject: { kind: "Tenant", namespace, name: "tenant", uid: `uid-${namespace}` },
    source: { component: "klutch-backend" },
    reason: "Bound",
    message: "told",
  });
}

function grantIn(namespace: string): object {
  const identity = { user: "oidc:ann" };
  const api = { group: "example.org", resource: "databases" };
  return { metadata: { namespace, name: "g" }, spec: { identity, api, way: "redirect", boundAt: at } };
}

function claimCache(
  plural: string,
  kind: string,
  object: Pick<DynamicObject, "metadata"> & Readonly<Record<string, unknown>>,
): object {
  const type = { group: "anynines.com", version: "v1", plural, kind, namespaced: true };
  return { type, claims: cacheOf(claimFacts({ apiVersion: "anynines.com/v1", kind, ...object })) };
}

const ready = [{ type: "Ready", status: "True", reason: "Available" }];
const namespaces = [
  { metadata: { name: "mine" } },
  { metadata: { name: "theirs" } },
  { metadata: { name: "operated", annotations: { [appClusterBindingAnnotation]: "x" } } },
  { metadata: { name: "above", annotations: { [serviceNamespaceAnnotation]: "mine/team" } } },
];
const tenants = ["mine", "theirs", "operated"];
const damage: readonly ProblemRow[] = [];
const board = new Board({
  caches: {
    bindings: cacheOf(),
    exports: cacheOf(),
    rollouts: cacheOf(),
    crds: cacheOf(),
    namespaces: cacheOf(...namespaces),
    tenants: cacheOf(
      ...tenants.map((namespace) => ({ metadata: { namespace, name: "tenant", uid: `uid-${namespace}` } })),
    ),
    grants: cacheOf(grantIn("mine"), grantIn("theirs")),
  } as unknown as BoardParts["caches"],
  templates: cacheOf() as BoardParts["templates"],
  cost: {
    visible: () => new Map(),
    plansOf: () => [],
    problems: () => damage,
    perMonth: (service, plan) =>
      `${service}/${plan}` === "pg/small" ? { amount: "1.00", currency: "EUR" } : undefined,
    onPrices: () => undefined,
  },
  events: cacheOf(...tenants.map(eventIn)) as BoardParts["events"],
  claims: {
    onChange: () => undefined,
    caches: new Map([
      [
        "postgresqlinstances.anynines.com",
        claimCache("postgresqlinstances", "PostgresqlInstance", {
          metadata: { namespace: "above", name: "orders" },
          spec: { service: "pg", plan: "small" },
          status: { conditions: ready },
        }),
      ],
      [
        "backups.anynines.com",
        claimCache("backups", "Backup", {
          metadata: { namespace: "above", name: "nightly" },
          spec: { instanceRef: "orders", serviceInstanceType: "postgresql" },
          status: { conditions: ready, managed: { finished_at: at } },
        }),
      ],
    ]),
  } as unknown as BoardParts["claims"],
  now: () => 0,
  time: () => 0,
});

function shown(collection: Collection, all: readonly string[], own: readonly string[]): readonly string[] {
  const rights = {
    viewer: { collections: [collection] },
    all: new Set(all),
    tenants: new Set(own),
    templates: new Set(),
  } as unknown as Rights;
  return [...board.visible(collection, rights).keys()].toSorted();
}

test("who may list Events sees those of all tenants, but Grants only with that right, and a member only their own", () => {
  const events = ["events/mine/told", "events/theirs/told"];
  const grants = ["grants/mine/g", "grants/theirs/g"];
  assert.deepEqual(shown("audit", ["audit"], []), events);
  assert.deepEqual(shown("audit", ["grants"], []), grants);
  assert.deepEqual(shown("audit", ["audit", "grants"], []), [...events, ...grants]);
  assert.deepEqual(shown("audit", [], ["mine"]), ["events/mine/told", "grants/mine/g"]);
  assert.deepEqual(shown("audit", [], []), []);
  assert.deepEqual(shown("audit", [], ["operated"]), [], "a konnector may write Events there");
});

test("an instance shows the end of its last good backup, and the price of its plan", () => {
  const rights = { viewer: { collections: ["instances"] }, all: new Set(), tenants: new Set(["mine"]) };
  const texts = board.visible("instances", rights as unknown as Rights);
  const row = JSON.parse(texts.get("postgresqlinstances.anynines.com/above/orders") ?? "{}") as InstanceRow;
  assert.equal(row.lastBackup, at);
  assert.deepEqual(row.perMonth, { amount: "1.00", currency: "EUR" });
  const backup = JSON.parse(texts.get("backups.anynines.com/above/nightly") ?? "{}") as InstanceRow;
  assert.equal(backup.perMonth, undefined);
});
