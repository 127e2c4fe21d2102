/** A tenant that writes thousands of objects, on a real API server with the backend's own account: the others must not feel it. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { apiServiceExportRequests, type APIServiceNamespace, apiServiceNamespaces } from "@klutch/api";
import { systemClock } from "@klutch/kube";
import { leaseCluster, waitFor } from "@klutch/kube-testing";
import { installProvider } from "./testing/provider.ts";
import { startBackend } from "./testing/start-backend.ts";
import { askForNamespace, createTenant, exportRequest, serviceNamespaceOf } from "./testing/tenants.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "fair-tenants" }));
const { client } = cluster;
await installProvider(client);
await waitFor("the kinds", async () => (await client.list(apiServiceNamespaces)) !== undefined);
await startBackend(stack, cluster, { flags: ["--control-plane-mode"] });
await Promise.all([createTenant(client, "honest"), createTenant(client, "flooder")]);

/** Objects of each of the two kinds that a flood writes. */
const flood = 700;
const writers = 24;

/** Runs `write` for 0, 1, … up to the flood's size, some at a time. */
async function inParallel(write: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < flood) await write(next++);
  };
  await Promise.all(Array.from({ length: writers }, work));
}

/** Milliseconds until a new namespace of the honest tenant is mapped. */
async function newNamespaceMs(name: string): Promise<number> {
  const started = systemClock.monotonic();
  await askForNamespace(client, { namespace: "honest", name });
  const mapped = (): Promise<string | undefined> => serviceNamespaceOf(client, { namespace: "honest", name });
  await waitFor(`the mapping of ${name}`, mapped, { intervalMs: 5 });
  return systemClock.monotonic() - started;
}

const samples = 16;

/** The quarter of the times that is the shortest: other programs of the machine lengthen single ones. */
async function quarter(prefix: string): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < samples; index++) times.push(await newNamespaceMs(`${prefix}-${index}`));
  return Math.round(times.toSorted((left, right) => left - right)[samples / 4] ?? 0);
}

test("1,400 objects of one tenant leave another's new namespace at most twice its quiet time", async (t) => {
  await quarter("warm");
  const quietMs = await quarter("quiet");
  const namespace = "flooder";
  await inParallel((index) => askForNamespace(client, { namespace, name: `junk-${index}` }));
  await inParallel((index) =>
    client.create(apiServiceExportRequests, exportRequest({ namespace, name: `junk-${index}` }, "databases")),
  );
  const mapped = async (): Promise<number> => {
    const { items } = await client.list<APIServiceNamespace>(apiServiceNamespaces, { namespace });
    return items.filter(({ status }) => status?.namespace !== undefined).length;
  };
  const before = await mapped();
  const floodMs = await quarter("flood");
  const meanwhile = (await mapped()) - before;
  t.diagnostic(
    `quiet ${quietMs} ms, during the flood ${floodMs} ms; ${meanwhile} of the flood were mapped meanwhile`,
  );
  assert.ok(floodMs <= 2 * quietMs, `${floodMs} ms after ${quietMs} ms`);
  // However fast the machine is: a few of the flood for each of the other tenant, and the flood is still going on.
  assert.ok(
    meanwhile > 0 && meanwhile <= 4 * samples,
    `${meanwhile} of the flood for ${samples} of the other tenant`,
  );
});
