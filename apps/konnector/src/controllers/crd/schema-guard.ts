/**
 * Reads the live claims before a new schema takes the place of the one they were made under. What none of them would suffer from is
 * rolled out at once; anything else waits for a person (the `release-schema` annotation, or `klutch release`).
 */
import { setImmediate as turn } from "node:timers/promises";
import { type APIServiceBinding, releaseSchemaAnnotation } from "@klutch/api";
import { type KubeClient, resourceTypeOf } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import { type AffectedObject, crdHashAnnotation, isUndecidable, SchemaTrial } from "@klutch/sync";

/** Most objects and changes that the condition names. */
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

/** Objections of existing objects to a schema change. */
interface Look {
  /** Most that were seen in one version. */
  readonly seen: number;
  /** By key. */
  readonly affected: ReadonlyMap<string, AffectedObject>;
}

/** Returns the reason why the CRD may not be replaced now, for the condition; undefined when it may be. `consumer` lists the existing objects. */
export async function heldChange(
  binding: APIServiceBinding,
  { current, wanted }: SchemaChange,
  consumer: KubeClient,
  signal: AbortSignal,
): Promise<string | undefined> {
  const trial = new SchemaTrial(current?.spec, wanted.spec);
  if (current === undefined || trial.changes.length === 0) return undefined;
  const hash = wanted.metadata.annotations?.[crdHashAnnotation] ?? "";
  if (binding.metadata.annotations?.[releaseSchemaAnnotation] === hash) return undefined;
  const { seen, affected } = await lookAt(trial, current, consumer, signal);
  const undecidable = trial.changes.filter(isUndecidable);
  if (affected.size === 0 && (seen === 0 || undecidable.length === 0)) return undefined;
  const release = `or let the schema come as it is: klutch release ${binding.metadata.name ?? ""} (release with hash ${hash})`;
  if (affected.size === 0)
    return `the provider's new schema has rules that cannot be checked here against the ${seen} existing objects: ${listed(undecidable)}. Look at them, ${release}`;
  const objects = [...affected.values()].map(({ key, problems }) => `${key} (${listed(problems)})`);
  return `the provider's new schema does not fit ${affected.size} of ${seen} existing objects: ${listed(objects, affected.size)}. Changes: ${listed(trial.changes)}. Change these objects, ${release}`;
}

/** Tries the change on all objects; keeps only the first affected ones whole. */
async function lookAt(
  trial: SchemaTrial,
  current: DynamicObject,
  consumer: KubeClient,
  signal: AbortSignal,
): Promise<Look> {
  const affected = new Map<string, AffectedObject>();
  let most = 0;
  for (const version of trial.versions) {
    const type = resourceTypeOf(current, version);
    if (type === undefined) continue;
    let seen = 0;
    for await (const object of consumer.listAll<DynamicObject>(type, { signal })) {
      seen++;
      const found = trial.affected(object);
      if (found !== undefined && !affected.has(found.key))
        affected.set(found.key, affected.size < namedLimit ? found : { key: found.key, problems: [] });
      // Other providers' APIs get their turn.
      if (seen % objectsBetweenTurns === 0) await turn(undefined, { signal });
    }
    most = Math.max(most, seen);
  }
  return { seen: most, affected };
}

function listed(texts: readonly string[], total: number = texts.length): string {
  const rest = total - namedLimit;
  return texts.slice(0, namedLimit).map(shortened).join("; ") + (rest > 0 ? `; and ${rest} more` : "");
}

function shortened(text: string): string {
  return text.length > textLimit ? `${text.slice(0, textLimit - 1)}…` : text;
}
