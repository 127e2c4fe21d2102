/** The built-in kinds that our agents use, with the schemas that matter for merging. More can be registered. */
import { customResourceDefinitions, isDnsLabel, namespaces as namespaceType } from "@klutch/kube-core";
import {
  at,
  type Json,
  type JsonObject,
  objectAt,
  objectsAt,
  textAt,
  textsAt,
  withFields,
  withMeta,
} from "./json.ts";
import type { ResourceDefinition } from "./resources.ts";

const text = { type: "string" };
const texts = { type: "object", additionalProperties: text };
const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const openList = { type: "array", items: open };
const textList = { type: "array", items: text };
const byKey = (...keys: string[]): object => ({
  ...openList,
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": keys,
});
const root = (properties: object): object => ({ type: "object", properties });

function core(kind: string, plural: string, schema: object): ResourceDefinition {
  return {
    type: { group: "", version: "v1", plural, kind, namespaced: true },
    statusSubresource: false,
    schema,
    isCompiled: true,
    allowsUnconditionalUpdate: true,
  };
}

const configMaps: ResourceDefinition = {
  ...core(
    "ConfigMap",
    "configmaps",
    root({ data: texts, binaryData: texts, immutable: { type: "boolean" } }),
  ),
  validate: (next, previous) => immutableProblems(next, previous, ["data", "binaryData"]),
};

const secrets: ResourceDefinition = {
  ...core(
    "Secret",
    "secrets",
    root({ data: texts, stringData: texts, type: text, immutable: { type: "boolean" } }),
  ),
  decode: (next) => {
    const data: Record<string, Json> = { ...objectAt(next, "data") };
    for (const key of Object.keys(objectAt(next, "stringData"))) {
      data[key] = Buffer.from(textAt(next, "stringData", key)).toString("base64");
    }
    return withFields(next, {
      type: textAt(next, "type") || "Opaque",
      data: Object.keys(data).length > 0 ? data : undefined,
      stringData: undefined,
    });
  },
  validate: (next, previous) => [
    ...(previous !== undefined && next["type"] !== previous["type"]
      ? ["type: Invalid value: field is immutable"]
      : []),
    ...immutableProblems(next, previous, ["data"]),
  ],
};

function immutableProblems(
  next: JsonObject,
  previous: JsonObject | undefined,
  fields: readonly string[],
): readonly string[] {
  if (previous?.["immutable"] !== true) return [];
  const rule = "Forbidden: field is immutable when `immutable` is set";
  const changed = fields.filter((field) => JSON.stringify(next[field]) !== JSON.stringify(previous[field]));
  const problems = changed.map((field) => `${field}: ${rule}`);
  return next["immutable"] === true ? problems : [`immutable: ${rule}`, ...problems];
}

const namespaceSchema = root({
  spec: root({ finalizers: textList }),
  status: root({ phase: text, conditions: byKey("type") }),
});
const namespaces: ResourceDefinition = {
  ...core("Namespace", "namespaces", namespaceSchema),
  type: namespaceType,
  statusSubresource: true,
  nameRule: isDnsLabel,
  decode: (object) => {
    const name = textAt(object, "metadata", "name");
    if (name === "") return object;
    const labels = { ...objectAt(object, "metadata", "labels"), "kubernetes.io/metadata.name": name };
    return withMeta(object, { labels });
  },
  prepare: (next, previous) => {
    const spec = previous?.["spec"] ?? { finalizers: ["kubernetes"] };
    const status = previous === undefined ? { phase: "Active" } : next["status"];
    return withFields(next, { spec, status });
  },
};

const serviceAccounts: ResourceDefinition = core(
  "ServiceAccount",
  "serviceaccounts",
  root({
    secrets: byKey("name"),
    imagePullSecrets: byKey("name"),
    automountServiceAccountToken: { type: "boolean" },
  }),
);

const leases: ResourceDefinition = {
  type: { group: "coordination.k8s.io", version: "v1", plural: "leases", kind: "Lease", namespaced: true },
  statusSubresource: false,
  isCompiled: true,
  allowsUnconditionalUpdate: false,
  tracksGeneration: false,
  schema: root({
    spec: root({
      holderIdentity: text,
      leaseDurationSeconds: { type: "integer" },
      acquireTime: { type: "string", format: "date-time" },
      renewTime: { type: "string", format: "date-time" },
      leaseTransitions: { type: "integer" },
      strategy: text,
      preferredHolder: text,
    }),
  }),
};

const events: ResourceDefinition = core("Event", "events", open);

/** The definition of definitions. Of their validation only that of names is modelled. */
const definitions: ResourceDefinition = {
  type: customResourceDefinitions,
  statusSubresource: true,
  isCompiled: true,
  schema: root({
    spec: {
      ...open,
      properties: {
        group: text,
        scope: text,
        names: { ...open, properties: { shortNames: textList, categories: textList } },
        versions: openList,
      },
    },
    status: {
      ...open,
      properties: { conditions: byKey("type"), storedVersions: textList, acceptedNames: open },
    },
  }),
  prepare: (next, previous) => {
    const names = objectAt(next, "spec", "names");
    const kind = textAt(names, "kind");
    const spec = withFields(objectAt(next, "spec"), {
      names: { singular: kind.toLowerCase(), listKind: `${kind}List`, ...names },
      conversion: at(next, "spec", "conversion") ?? { strategy: "None" },
    });
    const storage = objectsAt(spec, "versions").find((version) => version["storage"] === true);
    const before = textsAt(previous, "status", "storedVersions");
    const name = textAt(storage, "name");
    const storedVersions = name === "" || before.includes(name) ? before : [...before, name];
    const status = { ...objectAt(next, "status"), storedVersions };
    return withFields(next, { spec, status });
  },
  validate: (next) => {
    const wanted = `${textAt(next, "spec", "names", "plural")}.${textAt(next, "spec", "group")}`;
    return textAt(next, "metadata", "name") === wanted ? [] : [`metadata.name: must be ${wanted}`];
  },
};

/** Resources that every model serves from the start. */
export const builtinResources: readonly ResourceDefinition[] = [
  namespaces,
  configMaps,
  secrets,
  serviceAccounts,
  events,
  leases,
  definitions,
];
