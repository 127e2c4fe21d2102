/** Applies manifests and waits for what they describe. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { discoverResource, type KubeClient, parseYamlDocuments } from "@klutch/kube";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  isRecord,
  type ResourceType,
} from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";

/** Field manager of what the sandbox sets up. */
const fieldManager = "klutch-sandbox";

/** The documents of every YAML file of a folder, or of one file. */
export async function readManifests(path: string): Promise<readonly DynamicObject[]> {
  const files = path.endsWith(".yaml")
    ? [path]
    : (await readdir(path)).filter((name) => name.endsWith(".yaml")).map((name) => join(path, name));
  const texts = await Promise.all(files.toSorted().map((file) => readFile(file, "utf8")));
  return texts.flatMap((text) => parseYamlDocuments(text)).filter(isManifest);
}

function isManifest(value: unknown): value is DynamicObject {
  return isRecord(value) && typeof value["kind"] === "string" && isRecord(value["metadata"]);
}

/** Server-side applies the objects in order; waits for kinds that are not served yet. */
export async function applyAll(client: KubeClient, objects: readonly DynamicObject[]): Promise<void> {
  const known = new Map<string, ResourceType>();
  for (const object of objects) {
    const id = `${object.apiVersion}/${object.kind}`;
    const type = known.get(id) ?? (await servedType(client, object));
    known.set(id, type);
    const apply = (): Promise<DynamicObject> => client.apply(type, object, { fieldManager, force: true });
    // Webhooks and fresh kinds may need a moment.
    await waitFor(`${object.kind} ${object.metadata.name} to be applied`, apply, {
      timeoutMs: 60_000,
      intervalMs: 300,
    });
  }
}

async function servedType(client: KubeClient, object: DynamicObject): Promise<ResourceType> {
  const [left = "", right] = object.apiVersion.split("/");
  const query = right === undefined ? { group: "", version: left } : { group: left, version: right };
  return waitFor(
    `${object.kind} (${object.apiVersion}) to be served`,
    () => discoverResource(client, { ...query, kind: object.kind }),
    {
      timeoutMs: 120_000,
      intervalMs: 200,
    },
  );
}

/** Status of the condition, or undefined. */
export function conditionOf(object: DynamicObject | undefined, type: string): string | undefined {
  return findCondition(conditionsOf(object), type)?.status;
}

/** Waits until each condition is True; the error shows the object's status. */
export async function waitForConditions(
  client: KubeClient,
  type: ResourceType,
  ref: { readonly name: string; readonly namespace?: string | undefined },
  conditions: readonly string[],
  timeoutMs = 120_000,
): Promise<DynamicObject> {
  let last: DynamicObject | undefined;
  try {
    return await waitFor(
      `${type.kind} ${ref.name} to be ${conditions.join(" and ")}`,
      async () => {
        last = await client.find<DynamicObject>(type, ref);
        return conditions.every((condition) => conditionOf(last, condition) === "True") ? last : undefined;
      },
      { timeoutMs, intervalMs: 150 },
    );
  } catch (cause) {
    throw new Error(`${String(cause)}; status: ${JSON.stringify(last?.status)}`, { cause });
  }
}
