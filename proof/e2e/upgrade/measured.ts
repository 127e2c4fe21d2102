/** Measures one stretch of traffic in which an event happens: delays of the users' edits, and writes to claims and Secrets. */
import { consumerNamespace, serviceNamespaceName } from "@klutch/api";
import {
  type DynamicObject,
  type KubeObject,
  namespaces,
  numberAt,
  type ResourceType,
  secrets,
} from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { namespaceObject, secretObject, waitFor } from "@klutch/kube-testing";
import {
  bindDatabases,
  type BindingFixture,
  databaseObject,
  databases,
  tenants,
} from "../security/bound-fixture.ts";
import { answerSpecs, namespace, type Seen, serviceNamespace, type Traffic } from "./traffic.ts";

/** The figures of one stretch. */
export interface Measured extends Seen {
  /** Objects that changed, and those of them that no edit explains. */
  readonly changed: readonly string[];
  readonly needless: readonly string[];
}

/** Describes the event to measure. */
export interface Stretch {
  /** Name of the stretch, from which the name of its new namespace in the app cluster is made. */
  readonly name: string;
  /** Least number of edits before the event and after it. Default 20. */
  readonly edits?: number | undefined;
  readonly happens: () => Promise<unknown>;
}

/** Edits, lets the event happen, uses a new namespace on which both sides have to agree, edits again, and compares the objects. */
export async function measureStretch(
  fixture: BindingFixture,
  traffic: Traffic,
  stretch: Stretch,
): Promise<Measured> {
  const { name, edits: more = 20, happens } = stretch;
  const before = await lookAtAll(fixture);
  const edits = new Map(traffic.edits);
  traffic.go();
  await untilEdited(traffic, more);
  await happens();
  await useNewNamespace(fixture, name.toLowerCase().replaceAll(/[ ,]+/g, "-"));
  await untilEdited(traffic, more);
  const seen = await traffic.settle();
  const made = new Map(traffic.edits.entries().map(([claim, all]) => [claim, all - (edits.get(claim) ?? 0)]));
  return { ...seen, ...writtenBetween(before, await lookAtAll(fixture), made) };
}

async function untilEdited({ edits }: Traffic, more: number): Promise<void> {
  const sum = (): number => edits.values().reduce((all, one) => all + one, 0);
  const enough = sum() + more;
  await waitFor("some more edits", () => sum() >= enough, { timeoutMs: 120_000 });
}

/** State of one object. */
interface ObjectVersion {
  readonly version: string;
  /** Moves with each change of a claim's spec. */
  readonly generation: number;
  /** Name of the claim; undefined for a Secret, which is never edited. */
  readonly claim: string | undefined;
}

/** Versions by cluster, kind, namespace and name. */
type Look = ReadonlyMap<string, ObjectVersion>;

/** Reads claims, upstream objects, copied Secrets and their originals, and the credentials of konnector and tenant. */
async function lookAtAll({ appCluster, controlPlane }: BindingFixture): Promise<Look> {
  const found = new Map<string, ObjectVersion>();
  const read = async (client: KubeClient, where: string, type: ResourceType, of: string): Promise<void> => {
    const options = { namespace: of, metadataOnly: true };
    for await (const { metadata } of client.listAll<KubeObject>(type, options)) {
      const { name = "", resourceVersion: version = "", generation = 0 } = metadata;
      const claim = type === databases ? name : undefined;
      found.set(`${where} ${type.plural} ${of}/${name}`, { version, generation, claim });
    }
  };
  const sides = [
    [appCluster.client, "app cluster", namespace, consumerNamespace],
    [controlPlane.client, "control plane", serviceNamespace, tenants.a],
  ] as const;
  for (const [client, where, ofClaims, ofCredentials] of sides) {
    await read(client, where, databases, ofClaims);
    await read(client, where, secrets, ofClaims);
    await read(client, where, secrets, ofCredentials);
  }
  return found;
}

/** Returns the objects that changed, and those of them that no edit explains. `edits` holds the number of edits of each claim in between. */
function writtenBetween(
  before: Look,
  now: Look,
  edits: ReadonlyMap<string, number>,
): { readonly changed: readonly string[]; readonly needless: readonly string[] } {
  const keys = [...new Set([...before.keys(), ...now.keys()])];
  const changed = keys.filter((key) => before.get(key)?.version !== now.get(key)?.version);
  const needless = changed.filter((key) => {
    const [old, next] = [before.get(key), now.get(key)];
    const wanted = edits.get(next?.claim ?? "") ?? 0;
    return (
      old === undefined || next === undefined || wanted === 0 || next.generation - old.generation !== wanted
    );
  });
  return { changed, needless };
}

/** Numbers of claims and Secrets. */
export interface ClaimCounts {
  readonly claims: number;
  readonly secrets: number;
}

const patience = { timeoutMs: 240_000 };

/** Binds the API in a fixture in which a konnector runs. Gives back the names of the claims. */
export async function makeLivingClaims(
  fixture: BindingFixture,
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
  const answering = answerSpecs(provider, stop.signal, false, () => {});
  await inParts(names.slice(0, counts.secrets), (name) =>
    provider.create(secrets, secretObject(serviceNamespace, name, { password: name })),
  );
  await waitFor("all claims to be ready", () => areReady(fixture, counts), patience);
  stop.abort(new Error("all are ready"));
  await answering;
  return names;
}

/** Creates a claim in a new namespace, on which backend and konnector have to agree first. Resolves when it has come through. */
export async function useNewNamespace(fixture: BindingFixture, name: string): Promise<void> {
  await fixture.appCluster.client.create(namespaces, namespaceObject(name));
  await fixture.appCluster.client.create(databases, databaseObject(name, "new"));
  const ref = { namespace: serviceNamespaceName(tenants.a, name), name: "new" };
  const isThere = (): Promise<unknown> => fixture.controlPlane.client.find(databases, ref);
  await waitFor("the claim in a new namespace", async () => (await isThere()) !== undefined, patience);
}

async function areReady({ appCluster: { client } }: BindingFixture, counts: ClaimCounts): Promise<true> {
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
