/** Finds all secrets of a running sandbox, and searches all places of it where none of them may stand. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createKubeClient, type KubeClient, loadKubeconfig } from "@klutch/kube";
import { type DynamicObject, keyOf, recordAt, recordsAt, secrets } from "@klutch/kube-core";
import { type Canary, findCanaries, type Found, secretsIn } from "./canaries.ts";
import { discover } from "./rights.ts";

/** Hits of a search, and how much it read. */
export interface Search {
  readonly hits: readonly string[];
  readonly canaries: readonly string[];
  readonly places: { readonly logs: number; readonly objects: number; readonly processes: number };
}

const clusterNames = ["control-plane", "app-a", "app-b"];

/** Searches logs, every object of all three clusters but Secrets, and the arguments of all processes. */
export async function searchSandbox(folder: string, printed: string): Promise<Search> {
  const clusters = await Promise.all(clusterNames.map((name) => readCluster(folder, name)));
  const canaries = [...(await keptSecrets(folder)), ...clusters.flatMap((one) => one.canaries)];
  const objects = clusters.flatMap((one) => one.objects);
  const logs = [{ where: "what the sandbox printed", text: printed }, ...(await filesIn(folder, /\.log$/))];
  const processes = await argumentsOfProcesses();
  return {
    hits: findCanaries([...logs, ...objects, ...processes], canaries),
    canaries: canaries.map(({ name }) => name),
    places: { logs: logs.length, objects: objects.length, processes: processes.length },
  };
}

async function readCluster(
  folder: string,
  name: string,
): Promise<{ readonly canaries: readonly Canary[]; readonly objects: readonly Found[] }> {
  const config = await loadKubeconfig({ path: join(folder, `${name}.kubeconfig`) });
  await using client = createKubeClient(config);
  return { canaries: await secretsOf(name, client), objects: await objectsOf(name, client) };
}

/** Returns passwords and keys of the sandbox's own servers, and the tokens in its kubeconfigs and beside them. */
async function keptSecrets(folder: string): Promise<readonly Canary[]> {
  const state: unknown = JSON.parse(await readFile(join(folder, "sandbox.json"), "utf8"));
  const own = Object.entries(recordAt(state, "secrets"));
  const files = await filesIn(folder, /\.(kubeconfig|token)$/);
  const all = [...own, ...files.map(({ where, text }) => [where, text] as const)];
  return all.flatMap(([name, value]) => secretsIn(name, "", String(value)));
}

async function secretsOf(cluster: string, client: KubeClient): Promise<readonly Canary[]> {
  const { items } = await client.list<DynamicObject>(secrets);
  return items.flatMap((secret) =>
    Object.entries(recordAt(secret["data"])).flatMap(([key, value]) => {
      const name = `${key} of Secret ${keyOf(secret)} in ${cluster}`;
      return secretsIn(name, key, Buffer.from(String(value), "base64").toString("utf8"));
    }),
  );
}

/** Returns every object but Secrets, with status, annotations and managed fields; events and ConfigMaps too. */
async function objectsOf(cluster: string, client: KubeClient): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const { group, resource, verbs, paths } of await discover(client)) {
    if (!verbs.includes("list") || (group === "" && resource === "secrets")) continue;
    for (const path of paths) {
      const list = await client.request({ method: "GET", path: `${path}/${resource}` });
      for (const item of recordsAt(list, "items")) {
        const { namespace, name } = recordAt(item, "metadata");
        const where = `${resource} ${String(namespace)}/${String(name)} in ${cluster}`;
        found.push({ where, text: JSON.stringify(item) });
      }
    }
  }
  return found;
}

/** Reads the files whose names fit, in the folder and below. */
async function filesIn(folder: string, wanted: RegExp): Promise<readonly Found[]> {
  const files = (await readdir(folder, { recursive: true })).filter((name) => wanted.test(name));
  return Promise.all(
    files.map(async (name) => ({ where: name, text: await readFile(join(folder, name), "utf8") })),
  );
}

/** Reads command lines, not environments: passwords go to servers there on purpose, and only the own user may read it. */
async function argumentsOfProcesses(): Promise<readonly Found[]> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  return Promise.all(
    ids.map(async (id) => ({
      where: `the arguments of process ${id}`,
      text: await readFile(`/proc/${id}/cmdline`, "utf8").catch(() => ""),
    })),
  );
}
