/** Paths of the permission claims' `fields` and `preserving`: `spec.size`, `$.spec.size`, `data['tls.crt']`. No list items, no wildcards. */
import { isRecord } from "@klutch/kube-core";

/** The keys from the object's root to the field. */
export type KeyPath = readonly string[];

const step = /^(?:\.?([A-Za-z_][\w-]*)|\['([^']+)'\]|\["([^"]+)"\])/;
/** Fields that no claim may touch: identity and bookkeeping of the object. */
const untouchable: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "status"]);

/** The path's keys; undefined when it is none that can be honoured. */
export function parseKeyPath(text: string): KeyPath | undefined {
  const keys: string[] = [];
  let rest = text.trim().replace(/^\$/, "");
  while (rest !== "") {
    const match = step.exec(rest);
    if (match === null) return undefined;
    keys.push(match[1] ?? match[2] ?? match[3] ?? "");
    rest = rest.slice(match[0].length);
  }
  const [first] = keys;
  return first === undefined || untouchable.has(first) ? undefined : keys;
}

/** A copy of the object with this value at the path; undefined removes the field. Objects on the way are made as needed. */
export function withValueAt<T extends Readonly<Record<string, unknown>>>(
  object: T,
  path: KeyPath,
  value: unknown,
): T {
  const [key, ...tail] = path;
  if (key === undefined) return object;
  const present = object[key];
  if (tail.length === 0) {
    const { [key]: _replaced, ...others } = object;
    return { ...others, ...(value === undefined ? {} : { [key]: value }) } as T;
  }
  if (!isRecord(present) && value === undefined) return object;
  return { ...object, [key]: withValueAt(isRecord(present) ? present : {}, tail, value) };
}
