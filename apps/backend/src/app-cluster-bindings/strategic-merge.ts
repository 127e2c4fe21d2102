/**
 * Merges a container strategically (Kubernetes docs, "Use a strategic merge patch"): objects field by field, keyed lists item by item,
 * other lists and plain values as a whole. A value in the patch is set, also `false`, `0`, `""` and an empty list; null removes.
 */
import { isRecord, recordAt } from "@klutch/kube-core";

type Json = Readonly<Record<string, unknown>>;

/** Lists whose items have a name of their own, by the field that holds it. */
export const listKeys: Readonly<Record<string, string>> = {
  containers: "name",
  env: "name",
  ports: "containerPort",
  volumeMounts: "mountPath",
  volumeDevices: "devicePath",
  claims: "name",
};

/** Fields that exclude each other in an object: setting one removes the others. */
const alternatives: readonly (readonly string[])[] = [
  ["exec", "httpGet", "tcpSocket", "grpc", "sleep"],
  ["value", "valueFrom"],
];

const directive = "$patch";

/** `base` with `patch` merged into it. Neither is changed. */
export function strategicMerge(base: Json, patch: Json): Json {
  if (patch[directive] === "replace") return withoutDirectives(patch);
  const result = new Map(Object.entries(base));
  for (const name of displaced(patch)) result.delete(name);
  for (const [name, value] of Object.entries(patch)) {
    if (name === directive || value === undefined) continue;
    const merged = mergeValue(name, base[name], value);
    if (merged === undefined) result.delete(name);
    else result.set(name, merged);
  }
  return Object.fromEntries(result);
}

/** Merges one value. Returns undefined if the patch removes it. */
function mergeValue(name: string, base: unknown, patch: unknown): unknown {
  if (patch === null) return undefined;
  if (Array.isArray(patch)) return mergeList(name, base, patch);
  if (!isRecord(patch)) return patch;
  if (patch[directive] === "delete") return undefined;
  return strategicMerge(recordAt(base), patch);
}

/** Merges a keyed list. Items keep their position; new ones come last. An empty list empties it: no one writes one by accident. */
function mergeList(name: string, base: unknown, patch: readonly unknown[]): readonly unknown[] {
  const key = listKeys[name];
  if (key === undefined || patch.length === 0 || !Array.isArray(base)) {
    return patch.filter((item) => !isRemoval(item)).map(clean);
  }
  const items = new Map<unknown, unknown>(base.filter(isRecord).map((item) => [item[key], item]));
  for (const change of patch.filter(isRecord)) {
    const merged = mergeValue("", items.get(change[key]), change);
    if (merged === undefined) items.delete(change[key]);
    else items.set(change[key], merged);
  }
  return [...items.values()];
}

function displaced(patch: Json): readonly string[] {
  return alternatives.flatMap((names) => {
    const chosen = names.filter((name) => patch[name] !== undefined && patch[name] !== null);
    return chosen.length === 0 ? [] : names.filter((name) => !chosen.includes(name));
  });
}

function isRemoval(value: unknown): boolean {
  return value === null || (isRecord(value) && value[directive] === "delete");
}

function clean(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => !isRemoval(item)).map(clean);
  return isRecord(value) ? withoutDirectives(value) : value;
}

function withoutDirectives(value: Json): Json {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, field]) => name !== directive && !isRemoval(field))
      .map(([name, field]) => [name, clean(field)]),
  );
}
