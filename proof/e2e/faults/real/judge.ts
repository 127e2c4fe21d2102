/** Checks the conditions that must hold once the faults are over. */
import {
  type APIServiceBinding,
  type APIServiceExport,
  apiServiceBindings,
  apiServiceExports,
  apiServiceNamespaces,
  serviceNamespaceName,
} from "@klutch/api";
import {
  customResourceDefinitions,
  type DynamicObject,
  keyOf,
  type KubeObject,
  namespaces,
  numberAt,
  type ResourceType,
  secrets,
  textAt,
  valueAt,
} from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { checkInvariants, type InvariantSnapshot } from "@klutch/sync";
import { versionOf } from "./actors.ts";
import type { Ledger } from "./ledger.ts";
import { claimNamespaces } from "./plan.ts";
import { databases, databasesName, tenants } from "../../security/bound-fixture.ts";
import type { Fixture } from "./fixture.ts";

/** Both clusters at one time, read past all faults. */
export interface Reading {
  readonly snapshot: InvariantSnapshot;
  readonly claims: readonly DynamicObject[];
  readonly upstreams: readonly DynamicObject[];
  readonly copies: readonly DynamicObject[];
  readonly sources: readonly DynamicObject[];
}

/** Reads both clusters. */
export async function read({ sides }: Fixture): Promise<Reading> {
  const { client: consumer } = sides.consumer;
  const { client: provider } = sides.provider;
  const places = claimNamespaces.map((one) => serviceNamespaceName(tenants.a, one));
  const [claims, upstreams, copies, sources] = await Promise.all([
    listAll(consumer, databases),
    listAll(provider, databases, places),
    listAll(consumer, secrets, claimNamespaces),
    listAll(provider, secrets, places),
  ]);
  const inTenant = [tenants.a];
  const tenant = await provider.get(namespaces, { name: tenants.a });
  const snapshot: InvariantSnapshot = {
    now: Date.now(),
    // Nothing is on its way any more.
    graceMs: 0,
    consumer: {
      objects: { [databasesName]: claims, secrets: copies },
      bindings: await listAll<APIServiceBinding>(consumer, apiServiceBindings),
      crds: await listAll(consumer, customResourceDefinitions),
      namespaces: await listAll(consumer, namespaces),
    },
    provider: {
      objects: { [databasesName]: upstreams, secrets: sources },
      exports: await listAll<APIServiceExport>(provider, apiServiceExports, inTenant),
      apiServiceNamespaces: await listAll(provider, apiServiceNamespaces, inTenant),
      namespaces: await listAll(provider, namespaces),
      tenant: { namespace: tenants.a, namespaceUid: tenant.metadata.uid ?? "" },
      otherTenants: [],
    },
  };
  return { snapshot, claims, upstreams, copies, sources };
}

/** Returns a description of each violation; empty when everything has converged. */
export function judge(reading: Reading, ledger: Ledger): readonly string[] {
  const violations = checkInvariants(reading.snapshot);
  return [
    ...violations.map(({ invariant, object, side, message }) => `${invariant}: ${side} ${object} ${message}`),
    ...ledger.incarnations.flatMap((incarnation) => judgeClaim(reading, incarnation)),
    ...judgeLateInitialised(reading, ledger),
    ...judgeSecrets(reading, ledger),
  ];
}

/** Returns a description of each object of the seed that is left on either side. */
export function leftovers({ claims, upstreams, copies, sources }: Reading): readonly string[] {
  const sides = { consumer: [...claims, ...copies], provider: [...upstreams, ...sources] };
  return Object.entries(sides).flatMap(([side, objects]) =>
    objects.map((object) => `${object.kind} ${keyOf(object)} of the ${side} is left`),
  );
}

function judgeClaim(
  { claims, upstreams }: Reading,
  { id, key, isCreated, acknowledgedRevision, deletion }: Ledger["incarnations"][number],
): readonly string[] {
  const isIt = (object: DynamicObject): boolean => textAt(object, "spec", "incarnation") === id;
  const claim = claims.find(isIt);
  const own = upstreams.filter(isIt);
  const what = `claim ${key} (${id})`;
  if (claim === undefined) {
    const lost = isCreated && deletion === "none" ? [`${what} was created and is not there`] : [];
    const left = own.map((object) => `${keyOf(object)} of the provider is there, its claim ${id} is not`);
    return [...lost, ...left];
  }
  if (deletion === "acknowledged") return [`${what} was deleted and is still there`];
  const revision = numberAt(claim, "spec", "revision") ?? 0;
  const shown = numberAt(own[0], "spec", "revision");
  const faults: string[] = [];
  if (revision < acknowledgedRevision)
    faults.push(`has revision ${revision}, but ${acknowledgedRevision} was acknowledged`);
  if (shown !== revision || own.length !== 1)
    faults.push(`has revision ${revision}, the provider shows ${shown} in ${own.length} objects`);
  const counter = numberAt(own[0], "status", "counter");
  if (valueAt(own[0], "status") !== undefined && numberAt(claim, "status", "counter") !== counter)
    faults.push("does not show the last status");
  return faults.map((text) => `${what} ${text}`);
}

function judgeLateInitialised({ upstreams }: Reading, ledger: Ledger): readonly string[] {
  return upstreams.flatMap((object) => {
    const wanted = ledger.lateInitialised.get(object.metadata.uid ?? "");
    const found = textAt(object, "spec", "late");
    return wanted === undefined || found === wanted
      ? []
      : [`the provider set spec.late of ${keyOf(object)} to ${wanted}, it is ${found}`];
  });
}

function judgeSecrets({ copies, sources }: Reading, ledger: Ledger): readonly string[] {
  return [...ledger.secretVersions].flatMap(([key, version]) => {
    const [namespace = "", name = ""] = key.split("/");
    const place = `${serviceNamespaceName(tenants.a, namespace)}/${name}`;
    const source = sources.find((one) => keyOf(one) === place);
    const copy = copies.find((one) => keyOf(one) === key);
    if (version === undefined)
      return copy === undefined
        ? []
        : [`Secret ${key} was deleted on the provider and is still on the consumer`];
    if (source === undefined || versionOf(source) < version)
      return [`Secret ${place} of version ${version} was lost on the provider`];
    return copy !== undefined && versionOf(copy) === versionOf(source)
      ? []
      : [`Secret ${key} is not what the provider has: ${copy === undefined ? "missing" : versionOf(copy)}`];
  });
}

/** Objects of a kind in the whole cluster, or in some namespaces. */
async function listAll<T extends KubeObject = DynamicObject>(
  client: KubeClient,
  type: ResourceType,
  where: readonly (string | undefined)[] = [undefined],
): Promise<readonly T[]> {
  const lists = await Promise.all(where.map((namespace) => client.list<T>(type, { namespace })));
  return lists.flatMap(({ items }) => items);
}
