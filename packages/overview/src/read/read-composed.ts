/** Reads the way above a claim in the control plane: the composite, what that composes, and the ProviderConfigs. Sends GET requests only. */
import {
  clusterProviderConfigs,
  dataservicesGroup,
  namespacedDataservicesGroup,
  namespacedProviderConfigs,
  plainText,
  providerConfigs,
} from "@klutch/api";
import { discoverResource, isForbidden, type KubeClient } from "@klutch/kube";
import {
  customResourceDefinitions,
  type DynamicObject,
  recordAt,
  recordsAt,
  type ResourceType,
  textAt,
} from "@klutch/kube-core";
import type { Above, Composed, Looked } from "../explain/observed.ts";
import { viewOf } from "../explain/view.ts";

/** A control plane to read from. */
export interface AboveReader {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
}

/** Most composed resources that are read. */
const mostComposed = 20;

/** Reads the way above an object of the control plane itself. */
export async function readComposed(
  reader: AboveReader,
  type: ResourceType,
  object: DynamicObject,
): Promise<Above> {
  const upstream = { found: viewOf(object) };
  const isComposed = await isOfDefinition(reader, type);
  const own = recordAt(object.spec, "crossplane");
  const ref = recordAt(object.spec, "resourceRef");
  if (Object.keys(own).length > 0) {
    const resources = await readResources(reader, recordsAt(own, "resourceRefs"), object.metadata.namespace);
    return { upstream, holdsSpec: undefined, composite: upstream, isComposed, resources };
  }
  if (textAt(ref, "name") === undefined)
    return { upstream, holdsSpec: undefined, composite: undefined, isComposed, resources: [] };
  const composite = await readRef(reader, ref, undefined);
  const resources =
    typeof composite === "string"
      ? []
      : await readResources(reader, recordsAt(composite.object.spec, "resourceRefs"), undefined);
  return { upstream, holdsSpec: undefined, composite: viewed(composite), isComposed, resources };
}

async function isOfDefinition(
  { client, signal }: AboveReader,
  { plural, group }: ResourceType,
): Promise<boolean> {
  const name = `${plural}.${group}`;
  const crd = await ifAllowed(() => client.find(customResourceDefinitions, { name }, { signal }));
  // Who may not read the definition most probably asks about a claim of Crossplane.
  if (crd === undefined) return true;
  const owners = crd.metadata.ownerReferences ?? [];
  return owners.some(({ kind }) => kind === "CompositeResourceDefinition");
}

type Read = { readonly object: DynamicObject } | "missing" | "forbidden";

/** Reads an object by a reference `{apiVersion, kind, name, namespace}`. */
async function readRef(
  { client, signal }: AboveReader,
  ref: unknown,
  namespace: string | undefined,
): Promise<Read> {
  const [apiVersion = "", kind = "", name] = [
    textAt(ref, "apiVersion"),
    textAt(ref, "kind"),
    textAt(ref, "name"),
  ];
  const [version = "", group = ""] = apiVersion.split("/").toReversed();
  if (name === undefined || version === "") return "missing";
  const type = await discoverResource(client, { group, version, kind }, { signal });
  if (type === undefined) return "missing";
  const place = type.namespaced ? { name, namespace: textAt(ref, "namespace") ?? namespace } : { name };
  const found = await looked(() => client.find<DynamicObject>(type, place, { signal }));
  return typeof found === "string" ? found : { object: found };
}

function viewed(read: Read): Looked {
  return typeof read === "string" ? read : { found: viewOf(read.object) };
}

/** Reads an object; says why if there is none. */
export async function looked(
  read: () => Promise<DynamicObject | undefined>,
): Promise<DynamicObject | "missing" | "forbidden"> {
  const found = await ifAllowed(async () => (await read()) ?? ("missing" as const));
  return found ?? "forbidden";
}

async function readResources(
  reader: AboveReader,
  refs: readonly unknown[],
  namespace: string | undefined,
): Promise<readonly Composed[]> {
  const resources: Composed[] = [];
  for (const ref of refs.slice(0, mostComposed)) {
    const read = await readRef(reader, ref, namespace);
    const name = plainText(`${textAt(ref, "kind") ?? "?"}/${textAt(ref, "name") ?? "?"}`, 200);
    const object = typeof read === "string" ? undefined : read.object;
    const operation = textAt(object?.status, "pendingOperation");
    resources.push({
      ref: name,
      object: viewed(read),
      config: object === undefined ? undefined : await readConfig(reader, object),
      operation: operation === undefined ? undefined : plainText(operation, 60),
    });
  }
  return resources;
}

/** Reads the ProviderConfig of our provider's kinds only; a stranger's says nothing that we know. */
async function readConfig(
  { client, signal }: AboveReader,
  object: DynamicObject,
): Promise<Looked | undefined> {
  const [group] = object.apiVersion.split("/");
  const name = textAt(object.spec, "providerConfigRef", "name");
  if (name === undefined) return undefined;
  const type = configType(group, textAt(object.spec, "providerConfigRef", "kind"));
  if (type === undefined) return undefined;
  const place = type.namespaced ? { name, namespace: object.metadata.namespace } : { name };
  const found = await looked(() => client.find<DynamicObject>(type, place, { signal }));
  return typeof found === "string" ? found : { found: viewOf(found) };
}

function configType(group: string | undefined, kind: string | undefined): ResourceType | undefined {
  if (group === dataservicesGroup) return providerConfigs;
  if (group !== namespacedDataservicesGroup) return undefined;
  return kind === "ProviderConfig" ? namespacedProviderConfigs : clusterProviderConfigs;
}

/** Returns undefined for what the caller may not read. */
async function ifAllowed<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}
