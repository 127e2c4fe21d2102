/** Selects the bindings of an app cluster that `klutch verify` compares with one cluster namespace. */
import {
  type APIServiceBinding,
  apiServiceBindings,
  parsePinnedProvider,
  providerUidAnnotation,
} from "@klutch/api";
import { isNotFound } from "@klutch/kube";
import type { Consumer } from "../clusters.ts";
import { CliError } from "../errors.ts";

/** A binding that is not compared. */
export interface LeftOut {
  readonly name: string;
  /** Reason, as the second half of a sentence. */
  readonly reason: string;
  /** True if it belongs to another cluster namespace, so this one cannot judge it. */
  readonly isElsewhere: boolean;
}

/** The cluster namespace that is compared with. */
export interface ComparedTenant {
  readonly namespace: string;
  readonly namespaceUid: string;
  /** UID of kube-system; undefined if it may not be read. */
  readonly kubeSystemUid: string | undefined;
}

/** `bindings` are not known to belong elsewhere; `bound` are those of them that have an export here. */
export function sortBindings(
  all: readonly APIServiceBinding[],
  tenant: ComparedTenant,
  exported: ReadonlySet<string | undefined>,
): {
  readonly bindings: readonly APIServiceBinding[];
  readonly bound: readonly APIServiceBinding[];
  readonly leftOut: readonly LeftOut[];
} {
  const bindings: APIServiceBinding[] = [];
  const bound: APIServiceBinding[] = [];
  const leftOut: LeftOut[] = [];
  for (const binding of all) {
    const { name = "" } = binding.metadata;
    const elsewhere = elsewhereOf(binding, tenant);
    if (elsewhere !== undefined) {
      leftOut.push({ name, reason: elsewhere, isElsewhere: true });
      continue;
    }
    bindings.push(binding);
    if (exported.has(name)) bound.push(binding);
    else leftOut.push({ name, reason: `${tenant.namespace} has no export of it`, isElsewhere: false });
  }
  return { bindings, bound, leftOut };
}

/** Compares part by part, as the konnector does: a part that either side does not know says nothing. */
function elsewhereOf({ metadata }: APIServiceBinding, tenant: ComparedTenant): string | undefined {
  const value = metadata.annotations?.[providerUidAnnotation];
  if (value === undefined) return undefined;
  const pinned = parsePinnedProvider(value);
  const differs = (one: string | undefined, other: string | undefined): boolean =>
    one !== undefined && other !== undefined && one !== other;
  if (differs(pinned.kubeSystemUid, tenant.kubeSystemUid)) return "it is bound to another control plane";
  if (differs(pinned.namespaceUid, tenant.namespaceUid)) return "it is bound to another cluster namespace";
  return undefined;
}

/** All bindings. Throws `CliError` when the cluster does not know the kind. */
export async function listBindingsOrFail(
  { client }: Consumer,
  signal: AbortSignal,
): Promise<APIServiceBinding[]> {
  try {
    return await Array.fromAsync(client.listAll<APIServiceBinding>(apiServiceBindings, { signal }));
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
    throw new CliError(
      "Usage",
      "The first kubeconfig is of a cluster without APIServiceBindings; it must be of the app cluster, the second one of the control plane.",
      { cause },
    );
  }
}
