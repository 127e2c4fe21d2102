/** Applies manifests and waits for what they describe. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { discoverResource, type KubeClient, parseForeignKubeconfig, parseYamlDocuments } from "@klutch/kube";
import * as core from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";

/** Field manager of what the sandbox sets up. */
const fieldManager = "klutch-sandbox";

/** Reads the objects of every YAML file of a folder, or of one file. */
export async function readManifests(path: string): Promise<readonly core.DynamicObject[]> {
  const names = path.endsWith(".yaml") ? [""] : await readdir(path);
  const files = names.map((name) => join(path, name)).filter((file) => file.endsWith(".yaml"));
  const texts = await Promise.all(files.toSorted().map((file) => readFile(file, "utf8")));
  return texts.flatMap(manifestsIn);
}

/** Reads the objects of a file of this package's `manifests`, with values for the `${NAME}` in it. */
export async function shippedManifests(
  name: string,
  values: Readonly<Record<string, string>>,
): Promise<readonly core.DynamicObject[]> {
  const text = await readFile(join(import.meta.dirname, "..", "manifests", `${name}.yaml`), "utf8");
  return manifestsIn(text.replaceAll(/\$\{(\w+)\}/g, (found, key: string) => values[key] ?? found));
}

function manifestsIn(text: string): readonly core.DynamicObject[] {
  return parseYamlDocuments(text).filter(
    (value): value is core.DynamicObject =>
      core.isRecord(value) && typeof value["kind"] === "string" && core.isRecord(value["metadata"]),
  );
}

/** Server-side applies the objects in order; waits for kinds that are not served yet. */
export async function applyAll(client: KubeClient, objects: readonly core.KubeObject[]): Promise<void> {
  const known = new Map<string, core.ResourceType>();
  for (const object of objects) {
    const id = `${object.apiVersion}/${object.kind}`;
    const type = known.get(id) ?? (await servedType(client, object));
    known.set(id, type);
    const apply = (): Promise<core.KubeObject> => client.apply(type, object, { fieldManager, force: true });
    // Webhooks and fresh kinds may need a moment.
    const options = { intervalMs: 300 };
    await waitFor(`${object.kind} ${object.metadata.name} to be applied`, apply, options);
  }
}

async function servedType(client: KubeClient, { apiVersion, kind }: core.KubeObject) {
  const [version = "", group = ""] = apiVersion.split("/").toReversed();
  const discover = (): Promise<core.ResourceType | undefined> =>
    discoverResource(client, { group, version, kind });
  return waitFor(`${kind} (${apiVersion}) to be served`, discover, { timeoutMs: 120_000, intervalMs: 200 });
}

/** Returns the namespace of an app cluster at its control plane, from the credential of its konnector. */
export async function clusterNamespaceOf(appCluster: KubeClient): Promise<string | undefined> {
  const { items } = await appCluster.list<core.DynamicObject>(core.secrets, { namespace: "klutch-bind" });
  const [text] = items.flatMap((secret) => core.secretText(secret, "kubeconfig") ?? []);
  return text === undefined ? undefined : parseForeignKubeconfig(text).namespace;
}

/** Returns the status of the condition, or undefined. */
export function conditionOf(object: core.DynamicObject | undefined, type: string): string | undefined {
  return core.findCondition(core.conditionsOf(object), type)?.status;
}

/** Waits until each condition is True; the error shows the object's status. The usual limit leaves a loaded machine its time. */
export async function waitForConditions(
  client: KubeClient,
  type: core.ResourceType,
  ref: core.ObjectRef,
  conditions: readonly string[],
  timeoutMs = 300_000,
): Promise<core.DynamicObject> {
  let last: core.DynamicObject | undefined;
  const met = async (): Promise<core.DynamicObject | undefined> => {
    last = await client.find<core.DynamicObject>(type, ref);
    return conditions.every((condition) => conditionOf(last, condition) === "True") ? last : undefined;
  };
  const description = `${type.kind} ${ref.name} to be ${conditions.join(" and ")}`;
  return waitFor(description, met, { timeoutMs, intervalMs: 150 }).catch((cause: unknown) => {
    throw new Error(`${String(cause)}; status: ${JSON.stringify(last?.status)}`, { cause });
  });
}
