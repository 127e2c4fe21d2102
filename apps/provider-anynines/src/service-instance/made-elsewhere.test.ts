import assert from "node:assert/strict";
import { test } from "node:test";
import { type ServiceInstance, usageAnnotation } from "@klutch/api";
import { ExternalError, type Observation } from "@klutch/crossplane";
import { systemClock } from "@klutch/kube";
import { type OsbClient, OsbError, type Outcome } from "@klutch/osb";
import { RestPace } from "../broker/rest-pace.ts";
import { catalogOf, wantedOf } from "../testing/catalog.ts";
import { ServiceInstanceClient } from "./external-client.ts";

const gone = (): Promise<Outcome> =>
  Promise.reject(
    new OsbError({ status: 410, error: "Gone", description: "", own: true, action: "deprovision" }),
  );
const done = (): Promise<Outcome> => Promise.resolve({ kind: "done" });

/** Deletes an instance that was made by the ProviderConfig `made`, while its spec names `pg`. */
async function deleteInstance(
  made: string | undefined,
  deprovision: () => Promise<Outcome>,
): Promise<Observation> {
  const open = { service: "service", plan: "plan", config: made, from: "2026-11-01T00:00:00Z" };
  const usage = made === undefined ? {} : { [usageAnnotation]: JSON.stringify({ closed: [], open }) };
  let managed: ServiceInstance = {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    metadata: { name: "one", uid: "uid", deletionTimestamp: "2026-11-02T00:00:00Z", annotations: usage },
    spec: { forProvider: wantedOf(), providerConfigRef: { name: "pg" } },
    status: { atProvider: { serviceId: "s", planId: "p", state: "provisioned", provisionedAt: "t" } },
  };
  const osb = { deprovision } as unknown as OsbClient;
  const client = new ServiceInstanceClient({
    managed,
    broker: { osb, catalog: () => Promise.resolve(catalogOf()) },
    updateCriticalAnnotations: (annotations) => {
      const written = Object.entries({ ...managed.metadata.annotations, ...annotations });
      const kept = written.filter((entry): entry is [string, string] => entry[1] !== undefined);
      managed = { ...managed, metadata: { ...managed.metadata, annotations: Object.fromEntries(kept) } };
      return Promise.resolve();
    },
    clock: systemClock,
    users: () => ({ restores: [], bindings: [], backups: [] }),
    losses: () => ({ config: "c", target: "c", missing: 1, all: 1, accepted: false }),
    confirmLossMs: 0,
    pace: new RestPace({ clock: systemClock, intervalMs: 0 }),
  });
  const { signal } = new AbortController();
  await client.observe({ signal });
  await client.delete({ signal });
  return client.observe({ signal });
}

test("an instance that another broker made is not taken for deleted by one that does not know it", async () => {
  await assert.rejects(
    deleteInstance("pg-eu-1", gone),
    (error) =>
      error instanceof ExternalError &&
      error.reason === "Refused" &&
      error.message.startsWith(
        "the broker of ProviderConfig pg does not know the instance, which was made by that of pg-eu-1; nothing is deleted. " +
          "Set spec.providerConfigRef.name of serviceinstances.dataservices.anynines.com one to pg-eu-1, or spec.deletionPolicy to Orphan",
      ),
  );
});

test("it is deleted by a broker that knows it, by its own, and as before without a record", async () => {
  for (const [made, answer] of [
    ["pg-eu-1", done],
    ["pg", gone],
    [undefined, gone],
  ] as const)
    assert.equal((await deleteInstance(made, answer)).exists, false, String(made));
});
