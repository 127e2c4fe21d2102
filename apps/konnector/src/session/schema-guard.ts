/**
 * Looks at the live claims before a new schema takes the place of the one they were made under. What none of them would suffer from is
 * rolled out at once; anything else waits for a person (the `release-schema` annotation, or `klutch release`).
 */
import { releaseSchemaAnnotation } from "@klutch/api";
import { type DynamicObject, resourceTypeOf } from "@klutch/kube";
import {
  affectedBy,
  type AffectedObject,
  breakingVersionChanges,
  crdHashAnnotation,
  isUndecidable,
  type SyncObject,
} from "@klutch/sync";
import type { CrdReconcile } from "./crds.ts";

/** So many objects and changes are named in the condition. */
const namedLimit = 5;

/** Why the CRD may not be replaced now, for the condition; undefined when it may. */
export async function heldChange(
  { binding, consumer, signal }: CrdReconcile,
  wanted: SyncObject,
  current: SyncObject | undefined,
): Promise<string | undefined> {
  const changes = breakingVersionChanges(current?.spec, wanted.spec);
  if (current === undefined || changes.length === 0) return undefined;
  const hash = wanted.metadata.annotations?.[crdHashAnnotation] ?? "";
  if (binding.metadata.annotations?.[releaseSchemaAnnotation] === hash) return undefined;
  const type = resourceTypeOf(current);
  if (type === undefined) return undefined;
  const affected: AffectedObject[] = [];
  let seen = 0;
  for await (const object of consumer.client.listAll<DynamicObject>(type, { signal })) {
    seen++;
    const found = affectedBy(wanted.spec, object);
    if (found !== undefined) affected.push(found);
  }
  const undecidable = changes.filter(isUndecidable);
  if (affected.length === 0 && (seen === 0 || undecidable.length === 0)) return undefined;
  const release = `(release with hash ${hash})`;
  if (affected.length === 0) {
    return `the provider's new schema has rules that cannot be checked here against the ${seen} existing objects: ${listed(undecidable)} ${release}`;
  }
  const objects = affected.map(({ key, problems }) => `${key} (${listed(problems)})`);
  return `the provider's new schema does not fit ${affected.length} of ${seen} existing objects: ${listed(objects)}. Changes: ${listed(changes)} ${release}`;
}

function listed(texts: readonly string[]): string {
  const rest = texts.length - namedLimit;
  return texts.slice(0, namedLimit).join("; ") + (rest > 0 ? `; and ${rest} more` : "");
}
