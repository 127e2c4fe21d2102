/** An app cluster and a control plane with many bound claims that are ready, some with a Secret of the provider's. */
import { serviceNamespaceName } from "@klutch/api";
import { type DynamicObject, namespaces, numberAt, secrets } from "@klutch/kube-core";
import { namespaceObject, secretObject, type TestCluster, waitFor } from "@klutch/kube-testing";
import {
  bindDatabases,
  type BindingFixture,
  databaseObject,
  databases,
  tenants,
} from "../security/bound-fixture.ts";
import { answerSpecs, startTraffic, type Traffic, type TrafficOptions } from "./traffic.ts";

/** Namespaces of the claims and of their upstream objects. */
export const namespace = "team";
export const serviceNamespace: string = serviceNamespaceName(tenants.a, namespace);

/** Numbers of claims and Secrets. */
export interface ClaimCounts {
  readonly claims: number;
  readonly secrets: number;
}

/** The used parts of a fixture: two clusters, a tenant that has logged in, and a person who binds. */
export interface LivingFixture extends BindingFixture {
  readonly appCluster: Pick<TestCluster, "client" | "dataDir">;
  readonly controlPlane: Pick<TestCluster, "client">;
}

const patience = { timeoutMs: 240_000 };

/** Binds the API in a fixture in which a konnector runs. Gives back the names of the claims. */
export async function makeLivingClaims(
  fixture: LivingFixture,
  counts: ClaimCounts,
): Promise<readonly string[]> {
  const { client: consumer } = fixture.appCluster;
  const { client: provider } = fixture.controlPlane;
  await bindDatabases(fixture);
  await consumer.create(namespaces, namespaceObject(namespace));
  const names = Array.from({ length: counts.claims }, (_, index) => `db-${String(index).padStart(4, "0")}`);
  const [first = "", ...others] = names;
  await waitFor("the API to be served", () => consumer.create(databases, databaseObject(namespace, first)));
  await inParts(others, (name) => consumer.create(databases, databaseObject(namespace, name)));
  await waitFor("the service namespace", () => provider.find(namespaces, { name: serviceNamespace }));
  const stop = new AbortController();
  const answering = answerSpecs({ provider, type: databases, serviceNamespace }, stop.signal, () => {});
  await inParts(names.slice(0, counts.secrets), (name) =>
    provider.create(secrets, secretObject(serviceNamespace, name, { password: name })),
  );
  await waitFor("all claims to be ready", () => areReady(fixture, counts), patience);
  stop.abort(new Error("all are ready"));
  await answering;
  return names;
}

/** Edits claims of that fixture until it is disposed. */
export function editClaims(
  { appCluster, controlPlane }: LivingFixture,
  options: Pick<TrafficOptions, "names" | "serversEnd">,
): Traffic {
  const { client: consumer } = appCluster;
  const { client: provider } = controlPlane;
  return startTraffic({ ...options, consumer, provider, type: databases, namespace, serviceNamespace });
}

/** Creates a claim in a new namespace, on which backend and konnector have to agree first. Resolves when it has come through. */
export async function useNewNamespace(fixture: LivingFixture, name: string): Promise<void> {
  await fixture.appCluster.client.create(namespaces, namespaceObject(name));
  await fixture.appCluster.client.create(databases, databaseObject(name, "new"));
  const ref = { namespace: serviceNamespaceName(tenants.a, name), name: "new" };
  const isThere = (): Promise<unknown> => fixture.controlPlane.client.find(databases, ref);
  await waitFor("the claim in a new namespace", async () => (await isThere()) !== undefined, patience);
}

async function areReady({ appCluster: { client } }: LivingFixture, counts: ClaimCounts): Promise<true> {
  const { items } = await client.list<DynamicObject>(databases, { namespace });
  const ready = items.filter(({ status }) => numberAt(status, "size") === 1);
  const copies = await client.list(secrets, { namespace });
  if (ready.length === counts.claims && copies.items.length === counts.secrets) return true;
  throw new Error(`${ready.length} of ${counts.claims} are ready, with ${copies.items.length} Secrets`);
}

async function inParts(all: readonly string[], work: (name: string) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < all.length; start += 25)
    await Promise.all(all.slice(start, start + 25).map(work));
}
