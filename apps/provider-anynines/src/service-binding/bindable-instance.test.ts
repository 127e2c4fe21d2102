import assert from "node:assert/strict";
import { test } from "node:test";
import type { ManagedServiceBinding, ServiceInstance, ServiceInstanceObservation } from "@klutch/api";
import { NotYetError } from "@klutch/crossplane";
import { wantedOf } from "../testing/catalog.ts";
import { bindableInstance } from "./bind.ts";

const binding: ManagedServiceBinding = {
  apiVersion: "dataservices.anynines.com/v1",
  kind: "ServiceBinding",
  metadata: { name: "b", labels: { "crossplane.io/claim-namespace": "team" } },
  spec: { forProvider: { instanceName: "db", acceptsIncomplete: true } },
};
const complete: ServiceInstanceObservation = {
  instanceId: "i",
  serviceId: "s",
  planId: "p",
  state: "provisioned",
};

function instance(atProvider: ServiceInstanceObservation, metadata: object = {}): ServiceInstance {
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    metadata: { name: "one", ...metadata },
    spec: { forProvider: wantedOf() },
    status: { atProvider },
  };
}

const waits = (found: ServiceInstance | undefined, message: RegExp, beside: readonly string[] = []): void =>
  assert.throws(
    () => bindableInstance(binding, found, beside),
    (error) => error instanceof NotYetError && error.requeueAfterMs === 60_000 && message.test(error.message),
  );

test("a provisioned instance is bound by its ids at the broker", () => {
  assert.deepEqual(bindableInstance(binding, instance(complete), []), {
    instanceId: "i",
    serviceID: "s",
    planID: "p",
  });
});

test("a binding waits for an instance that is not there yet, and for one that is not ready", () => {
  waits(undefined, /no instance db in the namespace of this binding$/);
  for (const missing of ["instanceId", "serviceId", "planId"] as const)
    waits(instance({ ...complete, [missing]: undefined }), /not ready: db/);
  waits(instance({ ...complete, state: "deploying" }), /not ready: db/);
});

test("nothing is bound to an instance that is being deleted", () => {
  waits(instance(complete, { deletionTimestamp: "2026-01-01T00:00:00Z" }), /db is being deleted/);
});

test("a misspelled instance is answered with the one that is meant, any other with those of the namespace", () => {
  waits(
    undefined,
    /; there is db1\. If that is meant, delete this binding and create it again with instanceRef db1$/,
    ["other", "db1"],
  );
  waits(undefined, /; instances there: orders, shop$/, ["orders", "shop"]);
  waits(undefined, /; instances there: a1111, a2222, a3333, a4444, a5555, …$/, [
    "a1111",
    "a2222",
    "a3333",
    "a4444",
    "a5555",
    "a6666",
  ]);
});
