/**
 * Upstream objects whose `managedFields` name another version than the one that is applied. To see who holds which field, a kube-apiserver converts
 * the object to each version that is named. It cannot when a field is only in the newer one (conversion `None` takes nothing away here), nor when
 * the version is gone from the CustomResourceDefinition: then it refuses every apply of that object with an internal error (observed with 1.34).
 */
import {
  apiVersionOf,
  type DynamicObject,
  isRecord,
  type ObjectRef,
  type ResourceType,
} from "@klutch/kube-core";
import { ApiError, type KubeClient, type WriteOptions } from "@klutch/kube";

type Fields = Readonly<Record<string, unknown>>;

/** Versions that keep an apply from being carried out. */
export interface VersionsInTheWay {
  /** As `group/version`; undefined when it can be each but the applied one. */
  readonly only?: string | undefined;
}

/** The versions for which an apply was refused like this; undefined for any other error. */
export function versionsInTheWay(error: unknown): VersionsInTheWay | undefined {
  if (!(error instanceof ApiError) || error.status !== 500) return undefined;
  const { message } = error;
  const removed = /request to convert CR (?:to|from) an invalid group\/version: ([-.a-z0-9]+\/[a-z0-9]+)/;
  const only = removed.exec(message)?.[1];
  if (only !== undefined) return { only };
  return /failed to (?:convert|prune) .*: field not declared in schema/.test(message) ? {} : undefined;
}

/**
 * Writes the version of `type` in place of those into the object's `managedFields`, so that it stays known who holds which field. False when the
 * object is gone or names none of them. Throws what the server answers, also when somebody else writes at the same time.
 */
export async function replaceVersions(
  client: Pick<KubeClient, "find" | "jsonPatch">,
  type: ResourceType,
  ref: ObjectRef,
  { only }: VersionsInTheWay,
  options: WriteOptions,
): Promise<boolean> {
  const found = await client.find<DynamicObject>(type, ref, { signal: options.signal });
  const { managedFields = [], resourceVersion } = found?.metadata ?? {};
  const kept = apiVersionOf(type);
  const named = managedFields.map((entry) => (isRecord(entry) ? entry["apiVersion"] : undefined));
  const replaced = named.filter((version) => version !== kept && (only === undefined || version === only));
  if (replaced.length === 0) return false;
  const operations = [
    { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
    {
      op: "replace",
      path: "/metadata/managedFields",
      value: renamed(managedFields, new Set(replaced), kept),
    },
  ];
  await client.jsonPatch(type, ref, operations, options);
  return true;
}

/** One entry for each manager, operation and subresource of the version that is left: a server would keep only the last of two. */
export function renamed(
  entries: readonly unknown[],
  replaced: ReadonlySet<unknown>,
  kept: string,
): readonly unknown[] {
  const result = new Map<string, Fields>();
  for (const entry of entries.filter(isRecord)) {
    const next = replaced.has(entry["apiVersion"]) ? { ...entry, apiVersion: kept } : entry;
    const { manager, operation, subresource, apiVersion } = next;
    const key = JSON.stringify([manager, operation, subresource, apiVersion]);
    const earlier = result.get(key);
    const fieldsV1 = earlier === undefined ? next["fieldsV1"] : union(earlier["fieldsV1"], next["fieldsV1"]);
    result.set(key, { ...next, fieldsV1 });
  }
  return [...result.values()];
}

function union(left: unknown, right: unknown): Fields {
  if (!isRecord(left)) return isRecord(right) ? right : {};
  if (!isRecord(right)) return left;
  const both = Object.keys(right).map((name) => [name, union(left[name], right[name])] as const);
  return { ...left, ...Object.fromEntries(both) };
}
