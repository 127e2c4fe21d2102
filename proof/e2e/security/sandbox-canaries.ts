/** All secrets of a running sandbox, and all places of it where none of them may stand. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createKubeClient, type KubeClient, loadKubeconfig } from "@klutch/kube";
import { type DynamicObject, listAt, recordAt, recordsAt, secrets } from "@klutch/kube-core";
import { type Canary, findCanaries, type Found, secretsIn } from "./canaries.ts";

/** What a search found, and how much it read. */
export interface Search {
  readonly hits: readonly string[];
  readonly canaries: readonly string[];
  readonly places: { readonly logs: number; readonly objects: number; readonly processes: number };
}

const clusterNames = ["control-plane", "app-a", "app-b"];

/** Searches logs, every object of all three clusters but Secrets, and the arguments of all processes. */
export async function searchSandbox(folder: string, printed: string): Promise<Search> {
  await using stack = new AsyncDisposableStack();
  const canaries = [...(await keptSecrets(folder))];
  const objects: Found[] = [];
  for (const name of clusterNames) {
    const client = createKubeClient(await loadKubeconfig({ path: join(folder, `${name}.kubeconfig`) }));
    stack.use(client);
    canaries.push(...(await secretsOf(name, client)));
    objects.push(...(await objectsOf(name, client)));
  }
  const logs = [{ where: "what the sandbox printed", text: printed }, ...(await logsIn(folder))];
  const processes = await argumentsOfProcesses();
  return {
    hits: findCanaries([...logs, ...objects, ...processes], canaries),
    canaries: canaries.map(({ name }) => name),
    places: { logs: logs.length, objects: objects.length, processes: processes.length },
  };
}

/** Passwords and keys of the sandbox's own servers, and the tokens in its kubeconfigs and beside them. */
async function keptSecrets(folder: string): Promise<readonly Canary[]> {
  const state: unknown = JSON.parse(await readFile(join(folder, "sandbox.json"), "utf8"));
  const own = Object.entries(recordAt(state, "secrets"));
  const files = (await readdir(folder, { recursive: true })).filter((name) =>
    /\.(kubeconfig|token)$/.test(name),
  );
  const texts = await Promise.all(
    files.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const),
  );
  return [...own, ...texts].flatMap(([name, value]) => secretsIn(name, "", String(value)));
}

async function secretsOf(cluster: string, client: KubeClient): Promise<readonly Canary[]> {
  const { items } = await client.list<DynamicObject>(secrets);
  return items.flatMap(({ metadata, data }) =>
    Object.entries(recordAt(data)).flatMap(([key, value]) => {
      const name = `${key} of Secret ${metadata.namespace}/${metadata.name} in ${cluster}`;
      return secretsIn(name, key, Buffer.from(String(value), "base64").toString("utf8"));
    }),
  );
}

/** Every object but Secrets, with status, annotations and managed fields; events and ConfigMaps too. */
async function objectsOf(cluster: string, client: KubeClient): Promise<readonly Found[]> {
  const groups = recordsAt(await client.request({ method: "GET", path: "/apis" }), "groups");
  const versions = groups.flatMap((group) =>
    recordsAt(group, "versions").map((one) => String(one["groupVersion"])),
  );
  const found: Found[] = [];
  for (const path of ["/api/v1", ...versions.map((version) => `/apis/${version}`)]) {
    const resources = recordsAt(await client.request({ method: "GET", path }), "resources");
    for (const { name, verbs } of resources) {
      const isListed = listAt(verbs).includes("list");
      if (!isListed || (path === "/api/v1" && name === "secrets")) continue;
      const list = await client.request({ method: "GET", path: `${path}/${String(name)}` });
      for (const item of recordsAt(list, "items")) {
        const metadata = recordAt(item, "metadata");
        const where = `${String(name)} ${String(metadata["namespace"])}/${String(metadata["name"])} in ${cluster}`;
        found.push({ where, text: JSON.stringify(item) });
      }
    }
  }
  return found;
}

async function logsIn(folder: string): Promise<readonly Found[]> {
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".log"));
  return Promise.all(
    files.map(async (name) => ({ where: name, text: await readFile(join(folder, name), "utf8") })),
  );
}

/** Not their environment: passwords go to servers there on purpose, and only the own user may read it. */
async function argumentsOfProcesses(): Promise<readonly Found[]> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  return Promise.all(
    ids.map(async (id) => ({
      where: `the arguments of process ${id}`,
      text: await readFile(`/proc/${id}/cmdline`, "utf8").catch(() => ""),
    })),
  );
}
