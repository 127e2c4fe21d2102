import assert from "node:assert/strict";
import { test } from "node:test";
import type { DynamicObject } from "@klutch/kube-core";
import { placesIn } from "./cluster-places.ts";
import { clusterColumns, clusterRows } from "./rows.ts";
import { formatRows } from "./table.ts";

const instance = (
  metadata: object,
  { broker, region }: { readonly broker?: unknown; readonly region?: string } = {},
): DynamicObject => ({
  apiVersion: "dataservices.anynines.com/v1",
  kind: "ServiceInstance",
  metadata: {
    name: "i",
    labels: {
      "crossplane.io/claim-namespace": "kube-bind-a-app",
      ...(region === undefined ? {} : { "klutch.anynines.com/region": region }),
    },
    ...metadata,
  },
  spec: { providerConfigRef: { name: broker } },
});
const tenantOf = new Map([
  ["kube-bind-a-app", "a"],
  ["kube-bind-b-app", "b"],
]);

test("regions and brokers of an app cluster are those of its instances, each named once", () => {
  const placesOf = placesIn(
    [
      instance({}, { broker: "pg-eu", region: "eu-1" }),
      instance({}, { broker: "pg-eu", region: "eu-1" }),
      instance({}, { broker: "pg-us", region: "us-1" }),
      instance({ namespace: "kube-bind-b-app", labels: {} }, { broker: "own" }),
      instance({ labels: {} }, { broker: "by-hand" }),
      instance({ deletionTimestamp: "2026-11-01T00:00:00Z" }, { broker: "going" }),
    ],
    tenantOf,
  );
  const { regions, brokers } = placesOf("a");
  assert.deepEqual(
    [[...regions], [...brokers]],
    [
      ["eu-1", "us-1"],
      ["pg-eu", "pg-us"],
    ],
  );
  assert.deepEqual([...placesOf("b").brokers], ["own"]);
  assert.deepEqual([...placesOf("c").brokers], []);
});

test("names of any length and number leave the row short, and an instance without a broker names none", () => {
  const many = Array.from({ length: 500 }, (_, index) =>
    instance({}, { broker: `\u001b[31m${index}-${"x".repeat(10_000)}`, region: `r${index}\n` }),
  );
  const placesOf = placesIn([...many, instance({}), instance({}, { broker: 7 })], tenantOf);
  const binding = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "ClusterBinding",
    metadata: { namespace: "a", name: "cluster" },
  };
  const text = formatRows(clusterRows([binding], [], 0, placesOf), clusterColumns, "wide");
  assert.ok(text.length < 10_000, `${text.length}`);
  assert.ok(!text.includes("\u001b"));
  assert.match(text.split("\n")[0] ?? "", / REGIONS +BROKERS +HEARTBEAT /);
});
