import assert from "node:assert/strict";
import { test } from "node:test";
import type { Grant, Tenant } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { auditEvent, eventRow, grantedRow, trustedEvents } from "./console-audit.ts";

const at = "2026-11-28T12:00:00Z";
const about = { kind: "Tenant", namespace: "mine", name: "tenant", uid: "uid-mine" };

function event(more: Readonly<Record<string, unknown>> = {}, metadata: object = {}): DynamicObject {
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace: "mine", name: "e", uid: "u", creationTimestamp: at, ...metadata },
    involvedObject: about,
    source: { component: "klutch-backend" },
    reason: "Bound",
    message: "oidc:ann bound databases.example.org",
    ...more,
  };
}

function shown(events: readonly DynamicObject[], isOpen = false): readonly string[] {
  const tenants: Readonly<Record<string, object>> = {
    mine: { metadata: { uid: "uid-mine" } },
    other: { metadata: { uid: "uid-other" } },
  };
  return trustedEvents(
    events.map(auditEvent),
    (namespace) => tenants[namespace] as Tenant | undefined,
    () => isOpen,
  ).map((one) => eventRow(one).id);
}

test("an Event of the backend on a Tenant becomes a row, with the time of the API server", () => {
  const past = { lastTimestamp: "1999-01-01T00:00:00Z", eventTime: "1999-01-01T00:00:00Z" };
  assert.deepEqual(eventRow(auditEvent(event(past))), {
    id: "events/mine/e",
    tenant: "mine",
    at,
    reason: "Bound",
    says: "oidc:ann bound databases.example.org",
  });
  assert.deepEqual(shown([event()]), ["events/mine/e"]);
});

test("forged Events are no rows: of another writer, about another object, namespace or Tenant, or of no shape", () => {
  const forged = [
    event({ source: { component: "konnector" } }),
    event({ source: undefined, reportingComponent: "klutch-backend" }),
    event({ source: "klutch-backend" }),
    event({ involvedObject: { ...about, kind: "Grant" } }),
    event({ involvedObject: { ...about, name: "other" } }),
    event({ involvedObject: { ...about, namespace: "other" } }),
    event({ involvedObject: { ...about, uid: "uid-other" } }),
    event({ involvedObject: { ...about, uid: undefined } }),
    event({ involvedObject: "tenant" }),
    event({ reason: "<b>Bound</b>" }),
    event({ reason: undefined }),
    event({}, { namespace: "other" }),
    event({}, { creationTimestamp: "yesterday" }),
  ];
  assert.deepEqual(shown(forged), []);
});

test("where an account of an app cluster may write Events, none counts", () => {
  assert.deepEqual(shown([event()], true), []);
});

test("of a flood the newest Events of each tenant stay, and no tenant pushes out another's", () => {
  const flood = Array.from({ length: 5_000 }, (_, index) =>
    event(
      {},
      {
        name: `flood-${index}`,
        creationTimestamp: new Date(Date.parse(at) + index * 1_000).toISOString(),
      },
    ),
  );
  const involvedObject = { ...about, namespace: "other", uid: "uid-other" };
  const quiet = event(
    { involvedObject },
    { namespace: "other", name: "quiet", creationTimestamp: "2020-01-01T00:00:00Z" },
  );
  const ids = shown([...flood, quiet]);
  assert.equal(ids.length, 201);
  assert.ok(ids.includes("events/other/quiet"));
  assert.ok(ids.includes("events/mine/flood-4999"));
  assert.ok(!ids.includes("events/mine/flood-0"));
});

test("a message of 1 MB with markup and control characters comes out on one line and bounded", () => {
  const row = eventRow(auditEvent(event({ message: `<img>\n\u0000\u202e${"x".repeat(1_000_000)}` })));
  assert.ok(JSON.stringify(row).length < 700);
  assert.doesNotMatch(row.says, /[\p{Cc}\p{Cf}]/u);
});

test("a Grant is a row with its person, without an address, and one without a time is none", () => {
  const grant = {
    metadata: { namespace: "mine", name: "g" },
    spec: {
      identity: { user: "oidc:ann", displayName: "Ann" },
      api: { group: "example.org", resource: "databases" },
      way: "redirect",
      boundAt: at,
      address: "192.0.2.7",
    },
  } as Grant;
  const row = grantedRow(grant);
  assert.deepEqual(row, {
    id: "grants/mine/g",
    tenant: "mine",
    at,
    reason: "Granted",
    says: "Ann holds a Grant for databases.example.org, by the way redirect",
  });
  assert.equal(grantedRow({ ...grant, spec: { ...grant.spec, boundAt: "soon" } }), undefined);
});
