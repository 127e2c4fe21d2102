/** Applies manifests and waits for what they describe. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { discoverResource, type KubeClient, parseYamlDocuments } from "@klutch/kube";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  isRecord,
  type KubeObject,
  type ObjectRef,
  type ResourceType,
} from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";

/** Field manager of what the sandbox sets up. */
const fieldManager = "klutch-sandbox";

/** Reads the objects of every YAML file of a folder, or of one file. */
export async function readManifests(path: string): Promise<readonly DynamicObject[]> {
  const names = path.endsWith(".yaml") ? [""] : await readdir(path);
  const files = names.map((name) => join(path, name)).filter((file) => file.endsWith(".yaml"));
  const texts = await Promise.all(files.toSorted().map((file) => readFile(file, "utf8")));
  return texts.flatMap(manifestsIn);
}

/** Reads the objects of a file of this package's `manifests`, with values for the `${NAME}` in it. */
export async function shippedManifests(
  name: string,
  values: Readonly<Record<string, string>>,
): Promise<readonly DynamicObject[]> {
  const text = await readFile(join(import.meta.dirname, "..", "manifests", `${name}.yaml`), "utf8");
  return manifestsIn(text.replaceAll(/\$\{(\w+)\}/g, (found, key: string) => values[key] ?? found));
}

function manifestsIn(text: string): readonly DynamicObject[] {
  return parseYamlDocuments(text).filter(
    (value): value is DynamicObject =>
      isRecord(value) && typeof value["kind"] === "string" && isRecord(value["metadata"]),
  );
}

/** Server-side applies the objects in order; waits for kinds that are not served yet. */
export async function applyAll(client: KubeClient, objects: readonly KubeObject[]): Promise<void> {
  const known = new Map<string, ResourceType>();
  for (const object of objects) {
    const id = `${object.apiVersion}/${object.kind}`;
    const type = known.get(id) ?? (await servedType(client, object));
    known.set(id, type);
    const apply = (): Promise<KubeObject> => client.apply(type, object, { fieldManager, force: true });
    // Webhooks and fresh kinds may need a moment.
    const options = { intervalMs: 300 };
    await waitFor(`${object.kind} ${object.metadata.name} to be applied`, apply, options);
  }
}

async function servedType(client: KubeClient, { apiVersion, kind }: KubeObject): Promise<ResourceType> {
  const [version = "", group = ""] = apiVersion.split("/").toReversed();
  const discover = (): Promise<ResourceType | undefined> =>
    discoverResource(client, { group, version, kind });
  return waitFor(`${kind} (${apiVersion}) to be served`, discover, { timeoutMs: 120_000, intervalMs: 200 });
}

/** Returns the status of the condition, or undefined. */
export function conditionOf(object: DynamicObject | undefined, type: string): string | undefined {
  return findCondition(conditionsOf(object), type)?.status;
}

/** Waits until each condition is True; the error shows the object's status. */
export async function waitForConditions(
  client: KubeClient,
  type: ResourceType,
  ref: ObjectRef,
  conditions: readonly string[],
  timeoutMs = 120_000,
): Promise<DynamicObject> {
  let last: DynamicObject | undefined;
  const met = async (): Promise<DynamicObject | undefined> => {
    last = await client.find<DynamicObject>(type, ref);
    return conditions.every((condition) => conditionOf(last, condition) === "True") ? last : undefined;
  };
  const description = `${type.kind} ${ref.name} to be ${conditions.join(" and ")}`;
  return waitFor(description, met, { timeoutMs, intervalMs: 150 }).catch((cause: unknown) => {
    throw new Error(`${String(cause)}; status: ${JSON.stringify(last?.status)}`, { cause });
  });
}
