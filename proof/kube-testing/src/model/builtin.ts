/** The built-in kinds that our agents use, with the schemas that matter for merging. More can be registered. */
import {
  configMaps,
  customResourceDefinitions,
  events,
  isDnsLabel,
  leases,
  namespaces,
  type ResourceType,
  secrets,
  serviceAccounts,
} from "@klutch/kube-core";
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
import { fields, flag, integer, keyed, listOf, open, text, texts, time } from "./schema-parts.ts";

type Rules = Omit<ResourceDefinition, "type" | "schema" | "isCompiled">;

const compiled = (type: ResourceType, schema: object, rules: Partial<Rules> = {}): ResourceDefinition => ({
  type,
  schema,
  statusSubresource: false,
  isCompiled: true,
  allowsUnconditionalUpdate: type.group === "",
  ...rules,
});

function withSecretData(next: JsonObject): JsonObject {
  const data: Record<string, Json> = { ...objectAt(next, "data") };
  for (const key of Object.keys(objectAt(next, "stringData")))
    data[key] = Buffer.from(textAt(next, "stringData", key)).toString("base64");
  return withFields(next, {
    type: textAt(next, "type") || "Opaque",
    data: Object.keys(data).length > 0 ? data : undefined,
    stringData: undefined,
  });
}

function immutableProblems(
  next: JsonObject,
  previous: JsonObject | undefined,
  names: readonly string[],
): readonly string[] {
  if (previous?.["immutable"] !== true) return [];
  const rule = "Forbidden: field is immutable when `immutable` is set";
  const changed = names.filter((name) => JSON.stringify(next[name]) !== JSON.stringify(previous[name]));
  const problems = changed.map((name) => `${name}: ${rule}`);
  return next["immutable"] === true ? problems : [`immutable: ${rule}`, ...problems];
}

function withNameLabel(object: JsonObject): JsonObject {
  const name = textAt(object, "metadata", "name");
  if (name === "") return object;
  const labels = { ...objectAt(object, "metadata", "labels"), "kubernetes.io/metadata.name": name };
  return withMeta(object, { labels });
}

/** Fills in a definition. Of the server's validation of definitions only that of names is modelled. */
function preparedDefinition(next: JsonObject, previous: JsonObject | undefined): JsonObject {
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
}

const definitionSchema = fields({
  spec: {
    ...open,
    properties: {
      group: text,
      scope: text,
      names: { ...open, properties: { shortNames: listOf(text), categories: listOf(text) } },
      versions: listOf(open),
    },
  },
  status: {
    ...open,
    properties: { conditions: keyed(["type"]), storedVersions: listOf(text), acceptedNames: open },
  },
});

const references = { secrets: keyed(["name"]), imagePullSecrets: keyed(["name"]) };

/** Resources that every model serves from the start. */
export const builtinResources: readonly ResourceDefinition[] = [
  compiled(
    namespaces,
    fields({
      spec: fields({ finalizers: listOf(text) }),
      status: fields({ phase: text, conditions: keyed(["type"]) }),
    }),
    {
      statusSubresource: true,
      nameRule: isDnsLabel,
      decode: withNameLabel,
      prepare: (next, previous) => {
        const spec = previous?.["spec"] ?? { finalizers: ["kubernetes"] };
        const status = previous === undefined ? { phase: "Active" } : next["status"];
        return withFields(next, { spec, status });
      },
    },
  ),
  compiled(configMaps, fields({ data: texts, binaryData: texts, immutable: flag }), {
    validate: (next, previous) => immutableProblems(next, previous, ["data", "binaryData"]),
  }),
  compiled(secrets, fields({ data: texts, stringData: texts, type: text, immutable: flag }), {
    decode: withSecretData,
    validate: (next, previous) => [
      ...(previous !== undefined && next["type"] !== previous["type"]
        ? ["type: Invalid value: field is immutable"]
        : []),
      ...immutableProblems(next, previous, ["data"]),
    ],
  }),
  compiled(serviceAccounts, fields({ ...references, automountServiceAccountToken: flag })),
  compiled(events, open),
  compiled(
    leases,
    fields({
      spec: fields({
        holderIdentity: text,
        leaseDurationSeconds: integer,
        acquireTime: time,
        renewTime: time,
        leaseTransitions: integer,
        strategy: text,
        preferredHolder: text,
      }),
    }),
    { tracksGeneration: false },
  ),
  compiled(customResourceDefinitions, definitionSchema, {
    statusSubresource: true,
    prepare: preparedDefinition,
    validate: (next) => {
      const wanted = `${textAt(next, "spec", "names", "plural")}.${textAt(next, "spec", "group")}`;
      return textAt(next, "metadata", "name") === wanted ? [] : [`metadata.name: must be ${wanted}`];
    },
  }),
];
