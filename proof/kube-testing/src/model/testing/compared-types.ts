/** The resources on which model and real server are compared. */
import { configMaps, type KubeObject, type ResourceType, secrets } from "@klutch/kube-core";
import { crdObject } from "../../objects.ts";
import { atomic, fields, flag, integer, keyed, listOf, open, setOf, text, texts } from "../schema-parts.ts";

const custom = (kind: string, plural: string): ResourceType => ({
  group: "model.klutch.dev",
  version: "v1",
  plural,
  kind,
  namespaced: true,
});

/** A kind with a status subresource. */
export const widgets: ResourceType = custom("Widget", "widgets");
/** A kind without a status subresource. */
export const gadgets: ResourceType = custom("Gadget", "gadgets");
/** All compared types. */
export const comparedTypes: readonly ResourceType[] = [widgets, gadgets, configMaps, secrets];

const item = { name: text, value: integer, note: { ...text, default: "none" } };
const properties = {
  spec: fields({
    size: { ...integer, default: 1, minimum: 0, maximum: 9 },
    color: { ...text, enum: ["red", "green", "blue"] },
    word: { ...text, minLength: 1, pattern: "^[a-z]+$" },
    tags: texts,
    list: listOf(text),
    set: setOf(text),
    items: keyed(["name"], fields(item, { required: ["name"] })),
    ref: atomic(fields({ x: text, y: text })),
    nested: fields({ a: text, b: { ...flag, default: true }, maybe: { ...text, nullable: true } }),
    open,
    either: { "x-kubernetes-int-or-string": true },
  }),
  status: fields({
    phase: text,
    count: integer,
    conditions: keyed(["type"], fields({ type: text, status: text }, { required: ["type"] })),
  }),
};

/** The CustomResourceDefinition of one of the two custom types. */
export function definitionOf(type: ResourceType): KubeObject {
  return crdObject(type, { properties, hasStatus: type === widgets });
}
