/** Floods a backend on a real API server with objects of one tenant, while another tenant asks for namespaces. */
import { apiServiceExportRequests, type APIServiceNamespace, apiServiceNamespaces } from "@klutch/api";
import { systemClock } from "@klutch/kube";
import { configMaps } from "@klutch/kube-core";
import { leaseCluster, objectOfType, waitFor } from "@klutch/kube-testing";
import { installProvider } from "./provider.ts";
import { startBackend } from "./start-backend.ts";
import { askForNamespace, createTenant, exportRequest, serviceNamespaceOf } from "./tenants.ts";

/** Objects of each of the two kinds that the flood writes. */
export const flood = 700;
/** Namespaces that the other tenant asks for during the flood. */
export const samples = 16;
const writers = 24;

/** Times of the other tenant's new namespaces. */
export interface FloodTimes {
  /** Times before the flood. */
  readonly quiet: Waits;
  /** Times during it. */
  readonly flooded: Waits;
  /** Namespaces of the flood that the backend mapped while the other tenant got its own. */
  readonly meanwhile: number;
  /** Namespaces of the flood that still waited at the end. */
  readonly waiting: number;
}

/** Mean times in milliseconds. */
export interface Waits {
  /** From the request for a namespace to its mapping. */
  readonly namespaceMs: number;
  /** A bare write beside each. It tells how busy the API server and the machine are. */
  readonly writeMs: number;
}

/** Prints both times. */
export function waitsText({ namespaceMs, writeMs }: Waits): string {
  return `a namespace ${namespaceMs.toFixed(1)} ms, a bare write ${writeMs.toFixed(1)} ms`;
}

/** Runs it with the backend's own account. */
export async function floodBackend(): Promise<FloodTimes> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await leaseCluster({ name: "fair-tenants" }));
  const { client } = cluster;
  await installProvider(client);
  await waitFor("the kinds", async () => (await client.list(apiServiceNamespaces)) !== undefined);
  await startBackend(stack, cluster, { flags: ["--control-plane-mode"] });
  await Promise.all([createTenant(client, "honest"), createTenant(client, "flooder")]);

  const newNamespaceMs = async (name: string): Promise<number> => {
    const started = systemClock.monotonic();
    await askForNamespace(client, { namespace: "honest", name });
    const mapped = (): Promise<string | undefined> =>
      serviceNamespaceOf(client, { namespace: "honest", name });
    await waitFor(`the mapping of ${name}`, mapped, { intervalMs: 5 });
    return systemClock.monotonic() - started;
  };
  const bareWriteMs = async (name: string): Promise<number> => {
    const started = systemClock.monotonic();
    await client.create(configMaps, objectOfType(configMaps, { namespace: "honest", name }));
    return systemClock.monotonic() - started;
  };
  /** The means: with one queue for all, the first one waits for the whole flood and the others for nothing. */
  const meanWaits = async (prefix: string): Promise<Waits> => {
    let [namespaceMs, writeMs] = [0, 0];
    for (let index = 0; index < samples; index++) {
      const name = `${prefix}-${index}`;
      namespaceMs += (await newNamespaceMs(name)) / samples;
      writeMs += (await bareWriteMs(name)) / samples;
    }
    return { namespaceMs, writeMs };
  };
  const namespace = "flooder";
  const mapped = async (): Promise<number> => {
    const { items } = await client.list<APIServiceNamespace>(apiServiceNamespaces, { namespace });
    return items.filter(({ status }) => status?.namespace !== undefined).length;
  };

  await meanWaits("warm");
  const quiet = await meanWaits("quiet");
  await inParallel((index) => askForNamespace(client, { namespace, name: `junk-${index}` }));
  await inParallel((index) =>
    client.create(apiServiceExportRequests, exportRequest({ namespace, name: `junk-${index}` }, "databases")),
  );
  const before = await mapped();
  const flooded = await meanWaits("flood");
  const after = await mapped();
  return { quiet, flooded, meanwhile: after - before, waiting: flood - after };
}

/** Runs `write` for 0, 1, … up to the flood's size, some at a time. */
async function inParallel(write: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < flood) await write(next++);
  };
  await Promise.all(Array.from({ length: writers }, work));
}
