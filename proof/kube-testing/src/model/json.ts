/** JSON values as the model keeps them: never changed in place, deep-frozen once they are stored. */
import type { WatchEvent } from "@klutch/kube";
import {
  type DynamicObject,
  isRecord,
  type KubeObject,
  recordAt,
  recordsAt,
  valueAt,
} from "@klutch/kube-core";

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  readonly [field: string]: Json;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return isRecord(value);
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

type At<T> = (value: Json | undefined, ...path: readonly string[]) => T;

/** The value at a path of field names; undefined when something on the way is missing. */
export const at = valueAt as At<Json | undefined>;
/** The object at a path, empty when there is none. */
export const objectAt = recordAt as At<JsonObject>;
/** The objects of the list at a path. */
export const objectsAt = recordsAt as At<readonly JsonObject[]>;

/** The text at a path, empty when there is none. */
export function textAt(value: Json | undefined, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
}

/** The strings of the list at a path. */
export function textsAt(value: Json | undefined, ...path: readonly string[]): readonly string[] {
  const found = at(value, ...path);
  return isList(found) ? found.filter((item) => typeof item === "string") : [];
}

/** A copy with some fields set; `undefined` removes a field. */
export function withFields(
  object: JsonObject,
  changes: Readonly<Record<string, Json | undefined>>,
): JsonObject {
  const copy: Record<string, Json> = { ...object };
  for (const [field, value] of Object.entries(changes)) {
    if (value === undefined) delete copy[field];
    else copy[field] = value;
  }
  return copy;
}

/** A copy with some fields of its metadata set. */
export function withMeta(
  object: JsonObject,
  changes: Readonly<Record<string, Json | undefined>>,
): JsonObject {
  return withFields(object, { metadata: withFields(objectAt(object, "metadata"), changes) });
}

/** Freezes a value and everything in it; stops at values that are frozen already. */
export function deepFreeze<T extends Json>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const child of Object.values(value) as readonly Json[]) deepFreeze(child);
  return Object.freeze(value);
}

/** Returns a request body as it arrives over the wire: fields that are undefined are gone. Whole numbers beyond 2^53 lose digits. */
export function toWire(body: object): Json {
  return JSON.parse(JSON.stringify(body)) as Json;
}

/** Gives a stored object the type that the caller of the client asked for, on trust as the real client does. */
export function asObject<T extends KubeObject>(object: JsonObject): T {
  return object as unknown as T;
}

/** The same for an event. */
export function asEvent<T extends KubeObject>(event: WatchEvent<DynamicObject>): WatchEvent<T> {
  return event as unknown as WatchEvent<T>;
}
