/** Parts of structural schemas. */
import type { JsonObject } from "./json.ts";

export const text: JsonObject = { type: "string" };
export const integer: JsonObject = { type: "integer" };
export const flag: JsonObject = { type: "boolean" };
export const time: JsonObject = { type: "string", format: "date-time" };
export const texts: JsonObject = { type: "object", additionalProperties: text };
/** An object that may have any field. */
export const open: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
/** An object with these fields; `more` says more about it. */
export const fields = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...more,
});
export const listOf = (items: JsonObject): JsonObject => ({ type: "array", items });
/** A list that is merged item by item. */
export const keyed = (keys: readonly string[], items: JsonObject = open): JsonObject => ({
  ...listOf(items),
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": keys,
});
export const setOf = (items: JsonObject): JsonObject => ({
  ...listOf(items),
  "x-kubernetes-list-type": "set",
});
export const atomic = (object: JsonObject): JsonObject => ({ ...object, "x-kubernetes-map-type": "atomic" });

const metaTexts = ["name", "generateName", "namespace", "uid", "resourceVersion"];
/** The fields of the metadata that the server keeps. */
export const metaFields: JsonObject = {
  ...Object.fromEntries(metaTexts.map((name) => [name, text])),
  generation: integer,
  creationTimestamp: time,
  deletionTimestamp: time,
  deletionGracePeriodSeconds: integer,
  labels: texts,
  annotations: texts,
  finalizers: setOf(text),
  ownerReferences: keyed(["uid"], atomic({ type: "object" })),
  managedFields: { type: "array" },
};
