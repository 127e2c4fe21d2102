/** Reads both clusters for `klutch verify`. */
import {
  type APIServiceBinding,
  type APIServiceExport,
  apiServiceExports,
  apiServiceNamespaces,
  crdNameOf,
  type PermissionClaim,
} from "@klutch/api";
import { type DynamicObject, namespaces } from "@klutch/kube-core";
import type { InvariantSnapshot, Tenant } from "@klutch/sync";
import { clusterUid, type Consumer, ifAllowed } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { type LeftOut, listBindingsOrFail, sortBindings } from "./bindings.ts";
import { readBound } from "./bound.ts";
import { claimedTypes, claimsOf, readClaimed } from "./claimed.ts";
import { readOrphanedApis } from "./orphaned.ts";
import { type ControlPlane, listAll, type Reader } from "./reader.ts";
import { otherTenants, ownNamespaces } from "./tenants.ts";

/** A snapshot and what it does not show. */
export interface Reading {
  readonly snapshot: InvariantSnapshot;
  readonly notes: readonly string[];
  /** Bindings that were not compared. */
  readonly leftOut: readonly LeftOut[];
  /** Compared resources: bound APIs first, then claimed ones. */
  readonly resources: readonly ComparedResource[];
}

/** A resource of both clusters. */
export interface ComparedResource {
  readonly resource: string;
  readonly role: "bound" | "claimed";
  /** Read although no accepted claim asks for it, to see that nothing is there. */
  readonly optional: boolean;
}

/** Reads everything that the invariants look at, once. Only reads; what may not be read is left out and said. */
export async function readSnapshot(
  { signal, clock }: CliContext,
  consumer: Consumer,
  provider: ControlPlane,
): Promise<Reading> {
  const reader: Reader = { consumer, provider, signal, notes: new Set() };
  const here = await readTenancy(reader);
  const { tenant, exports, mappings } = here;
  const exported = new Set(exports.map(({ metadata }) => metadata.name));
  const identity = { ...tenant, kubeSystemUid: here.kubeSystemUid };
  const { bindings, bound, leftOut } = sortBindings(here.everyBinding, identity, exported);
  const place = { own: ownNamespaces(mappings, here.namespaces ?? [], tenant), tenant };
  const apis = await readBound(reader, bound, exports, place);
  const orphaned = await readOrphanedApis(reader, bindings);
  const claims = claimsOf(bound, exports);
  const types = await claimedTypes(reader, claims);
  const claimed = await readClaimed(reader, types, apis.provider, place);
  return {
    snapshot: {
      now: clock.now(),
      consumer: {
        objects: { ...apis.consumer, ...orphaned.objects, ...claimed.consumer },
        bindings,
        crds: orphaned.crds,
        namespaces: await listAll<DynamicObject>(consumer.client, namespaces, { metadataOnly: true, signal }),
      },
      provider: {
        objects: { ...apis.provider, ...claimed.provider },
        exports,
        apiServiceNamespaces: mappings,
        namespaces: here.namespaces,
        tenant,
        otherTenants: otherTenants(here.namespaces ?? [], tenant),
      },
    },
    notes: [...reader.notes, ...leftOut.map(({ name, reason }) => `${name} is left out: ${reason}.`)],
    leftOut,
    resources: comparedResources(bound, [...types.keys()], claims),
  };
}

/** Lists the resources to compare. A resource must be readable only if an accepted claim asks for it. */
export function comparedResources(
  bound: readonly Pick<APIServiceBinding, "metadata">[],
  claimed: readonly string[],
  claims: readonly PermissionClaim[],
): readonly ComparedResource[] {
  const accepted = new Set(claims.map((claim) => crdNameOf(claim)));
  return [
    ...bound.map(({ metadata }) => ({
      resource: metadata.name ?? "",
      role: "bound" as const,
      optional: false,
    })),
    ...claimed.map((resource) => ({
      resource,
      role: "claimed" as const,
      optional: !accepted.has(resource),
    })),
  ];
}

/** Facts about this tenant as a whole, from both clusters. */
interface Tenancy {
  readonly tenant: Tenant;
  readonly everyBinding: readonly APIServiceBinding[];
  /** UID of kube-system; undefined if it may not be read. */
  readonly kubeSystemUid: string | undefined;
  readonly exports: readonly APIServiceExport[];
  readonly mappings: readonly DynamicObject[];
  /** Namespaces of the control plane; undefined if they may not be listed. */
  readonly namespaces: readonly DynamicObject[] | undefined;
}

async function readTenancy(reader: Reader): Promise<Tenancy> {
  const { consumer, provider, signal } = reader;
  const tenant = await readTenant(reader);
  const own = { namespace: provider.namespace, signal };
  const [everyBinding, systemUid, exports, mappings] = await Promise.all([
    listBindingsOrFail(consumer, signal),
    clusterUid(reader.provider.client, reader.signal),
    listAll<APIServiceExport>(provider.client, apiServiceExports, own),
    listAll<DynamicObject>(provider.client, apiServiceNamespaces, own),
  ]);
  const all = await readNamespaces(reader);
  return { tenant, everyBinding, kubeSystemUid: systemUid, exports, mappings, namespaces: all };
}

async function readTenant({ provider, signal }: Reader): Promise<Tenant> {
  const { client, namespace } = provider;
  const found = await client.find(namespaces, { name: namespace }, { signal });
  if (found !== undefined) return { namespace, namespaceUid: found.metadata.uid ?? "" };
  throw new CliError(
    "Usage",
    `The control plane has no namespace ${namespace}. Pass --namespace with the cluster namespace of this app cluster. It is the namespace in the kubeconfig of the binding's Secret.`,
  );
}

async function readNamespaces({ provider, signal, notes }: Reader): Promise<DynamicObject[] | undefined> {
  const options = { metadataOnly: true, signal };
  const found = await ifAllowed(() => listAll<DynamicObject>(provider.client, namespaces, options));
  if (found === undefined) {
    notes.add(
      "Namespaces of the control plane may not be listed: their annotations and other tenants are not checked.",
    );
  }
  return found;
}
