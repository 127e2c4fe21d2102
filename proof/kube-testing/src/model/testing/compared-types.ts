/** The resources on which model and real server are compared. */
import type { KubeObject, ResourceType } from "@klutch/kube-core";

const group = "model.klutch.dev";
const custom = (kind: string, plural: string): ResourceType => ({
  group,
  version: "v1",
  plural,
  kind,
  namespaced: true,
});
const core = (kind: string, plural: string): ResourceType => ({
  group: "",
  version: "v1",
  plural,
  kind,
  namespaced: true,
});

/** A kind with a status subresource. */
export const widgets: ResourceType = custom("Widget", "widgets");
/** A kind without a status subresource. */
export const gadgets: ResourceType = custom("Gadget", "gadgets");
export const configMaps: ResourceType = core("ConfigMap", "configmaps");
export const secrets: ResourceType = core("Secret", "secrets");
/** All compared types. */
export const comparedTypes: readonly ResourceType[] = [widgets, gadgets, configMaps, secrets];

const text = { type: "string" };
const openApiSchema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        size: { type: "integer", default: 1, minimum: 0, maximum: 9 },
        color: { type: "string", enum: ["red", "green", "blue"] },
        word: { type: "string", minLength: 1, pattern: "^[a-z]+$" },
        tags: { type: "object", additionalProperties: text },
        list: { type: "array", items: text },
        set: { type: "array", items: text, "x-kubernetes-list-type": "set" },
        items: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: {
            type: "object",
            required: ["name"],
            properties: { name: text, value: { type: "integer" }, note: { type: "string", default: "none" } },
          },
        },
        ref: { type: "object", "x-kubernetes-map-type": "atomic", properties: { x: text, y: text } },
        nested: {
          type: "object",
          properties: {
            a: text,
            b: { type: "boolean", default: true },
            maybe: { type: "string", nullable: true },
          },
        },
        open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        either: { "x-kubernetes-int-or-string": true },
      },
    },
    status: {
      type: "object",
      properties: {
        phase: text,
        count: { type: "integer" },
        conditions: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["type"],
          items: { type: "object", required: ["type"], properties: { type: text, status: text } },
        },
      },
    },
  },
};

/** The CustomResourceDefinition of one of the two custom types. */
export function definitionOf(type: ResourceType): KubeObject {
  const { plural, kind } = type;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          ...(type === widgets ? { subresources: { status: {} } } : {}),
          schema: { openAPIV3Schema: openApiSchema },
        },
      ],
    },
  };
}
