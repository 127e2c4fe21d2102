/**
 * Reads the live claims before a new schema takes the place of the one they were made under. What none of them would suffer from is
 * rolled out at once; anything else waits for a person (the `release-schema` annotation, or `klutch release`).
 */
import { setImmediate as turn } from "node:timers/promises";
import { type APIServiceBinding, releaseSchemaAnnotation } from "@klutch/api";
import { type KubeClient, resourceTypeOf } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import {
  type AffectedObject,
  breakingVersionChanges,
  crdHashAnnotation,
  isUndecidable,
  SchemaTrial,
} from "@klutch/sync";

/** So many objects and changes are named in the condition. */
const namedLimit = 5;
/** Characters of each of them. */
const textLimit = 1_000;
/** An object may take some tenths of a second to check when its schema was made for that. */
const objectsBetweenTurns = 10;

/** A CRD of the app cluster that is to be replaced. */
export interface SchemaChange {
  readonly current: DynamicObject | undefined;
  readonly wanted: DynamicObject;
}

/** Why the CRD may not be replaced now, for the condition; undefined when it may. `consumer` lists the objects that exist. */
export async function heldChange(
  binding: APIServiceBinding,
  { current, wanted }: SchemaChange,
  consumer: KubeClient,
  signal: AbortSignal,
): Promise<string | undefined> {
  const changes = breakingVersionChanges(current?.spec, wanted.spec);
  if (current === undefined || changes.length === 0) return undefined;
  const hash = wanted.metadata.annotations?.[crdHashAnnotation] ?? "";
  if (binding.metadata.annotations?.[releaseSchemaAnnotation] === hash) return undefined;
  const type = resourceTypeOf(current);
  if (type === undefined) return undefined;
  const trial = new SchemaTrial(wanted.spec);
  const named: AffectedObject[] = [];
  let affected = 0;
  let seen = 0;
  for await (const object of consumer.listAll<DynamicObject>(type, { signal })) {
    seen++;
    const found = trial.affected(object);
    if (found !== undefined) affected++;
    if (found !== undefined && named.length < namedLimit) named.push(found);
    // Other providers' APIs get their turn.
    if (seen % objectsBetweenTurns === 0) await turn(undefined, { signal });
  }
  const undecidable = changes.filter(isUndecidable);
  if (affected === 0 && (seen === 0 || undecidable.length === 0)) return undefined;
  const release = `(release with hash ${hash})`;
  if (affected === 0) {
    return `the provider's new schema has rules that cannot be checked here against the ${seen} existing objects: ${listed(undecidable)} ${release}`;
  }
  const objects = named.map(({ key, problems }) => `${key} (${listed(problems)})`);
  return `the provider's new schema does not fit ${affected} of ${seen} existing objects: ${listed(objects, affected)}. Changes: ${listed(changes)} ${release}`;
}

function listed(texts: readonly string[], total: number = texts.length): string {
  const rest = total - namedLimit;
  return texts.slice(0, namedLimit).map(shortened).join("; ") + (rest > 0 ? `; and ${rest} more` : "");
}

function shortened(text: string): string {
  return text.length > textLimit ? `${text.slice(0, textLimit - 1)}…` : text;
}
