/** The CustomResourceDefinition of bindings, which the plugin writes: an agent that could change it would decide what people read in a binding. */
import { apiServiceBindingCrd } from "@klutch/api";
import {
  customResourceDefinitions,
  type DynamicObject,
  isRecord,
  jsonEqual,
  type KubeObject,
  recordAt,
  recordsAt,
  textAt,
} from "@klutch/kube-core";
import { isAlreadyExists } from "@klutch/kube";
import type { Consumer } from "../clusters.ts";

const { name } = apiServiceBindingCrd.metadata;

/** Creates the definition if it is absent. An existing one of another release stays, because it may be newer. */
export async function createBindingKind({ client }: Consumer, signal: AbortSignal): Promise<void> {
  if ((await client.find(customResourceDefinitions, { name }, { signal })) !== undefined) return;
  try {
    await client.create<KubeObject>(customResourceDefinitions, apiServiceBindingCrd, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** Reads the faults of the definition, by which bindings would say what no one wrote; empty when it is absent. */
export async function bindingKindFaults(
  { client }: Consumer,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const crd = await client.find<DynamicObject>(customResourceDefinitions, { name }, { signal });
  return crd === undefined ? [] : faultsOf(crd.spec);
}

/** Replaces the definition's spec by that of this release. */
export async function repairBindingKind({ client }: Consumer, signal: AbortSignal): Promise<void> {
  const crd = await client.get<DynamicObject>(customResourceDefinitions, { name }, { signal });
  const spec = { ...recordAt(apiServiceBindingCrd.spec), scope: textAt(crd.spec, "scope") };
  await client.replace<DynamicObject>(customResourceDefinitions, { ...crd, spec }, { signal });
}

/** Returns what of a definition's spec no release ships: a conversion by somebody's server, defaults, fields that are dropped. */
export function faultsOf(spec: unknown): readonly string[] {
  const shipped = defaultsIn(recordsAt(apiServiceBindingCrd.spec, "versions")[0]);
  const versions = recordsAt(spec, "versions").filter((version) => version["served"] !== false);
  const conversion = textAt(spec, "conversion", "strategy");
  return [
    ...(conversion === "Webhook" ? ["a server converts its objects (spec.conversion)"] : []),
    ...versions.flatMap((version) => {
      const properties = recordAt(version, "schema", "openAPIV3Schema", "properties", "spec", "properties");
      const foreign = [...defaultsIn(version)].filter(
        ([path, value]) => !(shipped.has(path) && jsonEqual(shipped.get(path), value)),
      );
      return [
        ...foreign.map(([path]) => `it has a default that no release has (${path})`),
        ...("permissionClaims" in properties ? [] : ["it drops the field spec.permissionClaims"]),
      ];
    }),
  ];
}

/** Default values in a schema, by their paths. */
function defaultsIn(schema: unknown, path = ""): ReadonlyMap<string, unknown> {
  if (Array.isArray(schema))
    return new Map(schema.flatMap((item, index) => [...defaultsIn(item, `${path}[${index}]`)]));
  if (!isRecord(schema)) return new Map();
  return new Map(
    Object.entries(schema).flatMap(([key, value]): [string, unknown][] =>
      key === "default" && !path.endsWith(".properties")
        ? [[path, value]]
        : [...defaultsIn(value, `${path}.${key}`)],
    ),
  );
}
