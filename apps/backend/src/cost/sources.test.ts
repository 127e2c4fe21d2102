import assert from "node:assert/strict";
import { test } from "node:test";
import { usageAnnotation } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { billOf, idleDatabasesOf, PriceBook } from "@klutch/services/prices";
import { usedInstance } from "./sources.ts";

test("the little that is kept of an instance is enough for its bill, its size and its idle days", () => {
  const now = Date.UTC(2026, 10, 29);
  const open = { service: "pg", plan: "small", config: "c", from: "2026-01-01T00:00:00Z" };
  const whole: DynamicObject = {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    metadata: {
      name: "orders-x7",
      uid: "1",
      labels: { "crossplane.io/claim-name": "orders", "crossplane.io/claim-namespace": "team", other: "x" },
      annotations: { [usageAnnotation]: JSON.stringify({ closed: [], open }), other: "x" },
      managedFields: [{}],
    },
    spec: {
      forProvider: {
        serviceName: "pg",
        planName: "small",
        organizationGuid: "o",
        spaceGuid: "s",
        parameters: { secret: "x" },
      },
      providerConfigRef: { name: "c" },
    },
    status: {
      atProvider: {
        state: "provisioned",
        provisionedAt: "2026-01-01T00:00:00Z",
        measured: { at: "2026-11-28T00:00:00Z", bytes: 5, lastSession: "2026-10-01T00:00:00Z" },
        parameters: { secret: "x" },
      },
      conditions: [],
    },
  };
  const kept = usedInstance(whole);
  assert.ok(!JSON.stringify(kept).includes("secret"));
  const reports = [kept, whole as unknown as typeof kept].map((instance) => {
    const book = new PriceBook([]);
    const sources = { instances: [instance], backups: [], ledgers: [], namespaces: [] };
    const period = { since: "2026-10", until: undefined, now };
    return { bill: billOf(sources, book, period), idle: idleDatabasesOf(sources, book, { now }) };
  });
  assert.deepEqual(reports[0], reports[1]);
  const { bill, idle } = reports[0] ?? {};
  assert.equal(bill?.lines.at(-1)?.data?.bytes, 5n);
  assert.deepEqual(
    idle?.databases.map(({ claim, days }) => [claim, days]),
    [["orders", 58]],
  );
});
