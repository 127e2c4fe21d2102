import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { consumerNamespace, serviceNamespaceName } from "@klutch/api";
import { gatewayServer } from "@klutch/gateway";
import { type DynamicObject, namespaces } from "@klutch/kube-core";
import { readServedCertificate, systemRuntime } from "@klutch/kube-runtime";
import { namespaceObject, waitFor } from "@klutch/kube-testing";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import { putKubeconfig } from "../testing/credentials.ts";
import { bindApi, startKonnector, testApi, widget } from "../testing/fixture.ts";
import { openWatches } from "../testing/open-watches.ts";
import { tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const apis = [testApi("widgets", "Widget"), testApi("gadgets", "Gadget")];
const fixture = await startTenantFixture({ exported: apis });
const { consumer, provider, cleanup } = fixture;
const names = ["app", "shop", "mail"];

async function startGateway(): Promise<string> {
  const certs = join(provider.dataDir, "certs");
  const files = { cert: join(certs, "apiserver.crt"), key: join(certs, "apiserver.key") };
  const listening = Promise.withResolvers<number>();
  const stop = new AbortController();
  const running = gatewayServer({
    runtime: systemRuntime({ logger: silentLogger, metrics: createMetrics() }),
    cluster: provider.config,
    client: provider.client,
    listen: { host: "127.0.0.1", port: 0 },
    tls: await readServedCertificate(files),
    bounds: { maxBytes: 16 * 1024 * 1024, maxAgeMs: 300_000 },
    limits: {},
    onListening: listening.resolve,
  }).start({ signal: stop.signal });
  running.catch(listening.reject);
  cleanup.defer(() => running);
  cleanup.defer(() => stop.abort(new Error("the test is over")));
  return `https://127.0.0.1:${await listening.promise}`;
}

/** Creates a claim of each API in each namespace, waits for all upstream, writes a status there and waits for it here. */
async function claimsGoUpAndStatusComesDown(name: string): Promise<void> {
  for (const { type } of apis) {
    for (const namespace of names) {
      await waitFor(`${type.plural} to be served`, () => consumer.client.list(type));
      await consumer.client.create(type, {
        ...widget(type, name, { size: 3 }),
        metadata: { namespace, name },
      });
      const ref = { namespace: serviceNamespaceName(tenantNamespace, namespace), name };
      await waitFor(`${namespace}/${name} upstream`, () => provider.client.find(type, ref));
      await provider.client.mergePatch(type, ref, { status: { said: name } }, { subresource: "status" });
      await waitFor(`the status of ${namespace}/${name}`, async () => {
        const found = await consumer.client.get<DynamicObject>(type, { namespace, name });
        return JSON.stringify(found["status"] ?? {}).includes(name);
      });
    }
  }
}

test("a konnector syncs through the gateway, and the API server holds one watch of each kind instead of one of each namespace", async () => {
  for (const name of names.slice(1)) await consumer.client.create(namespaces, namespaceObject(name));
  const kubeconfig = fixture.kubeconfig.replace(provider.url, await startGateway());
  {
    await using _agent = await startKonnector(fixture);
    for (const { name } of apis) await bindApi(fixture, name, kubeconfig);
    await claimsGoUpAndStatusComesDown("through");
    assert.equal(await openWatches(provider), apis.length);
  }
  const secret = { namespace: consumerNamespace, name: "kubeconfig-test" };
  await putKubeconfig(consumer, secret, fixture.kubeconfig);
  await using agent = await startKonnector(fixture, { identity: "second" });
  await claimsGoUpAndStatusComesDown("past");
  // The gateway still follows the kinds for some minutes.
  assert.equal(await openWatches(provider), apis.length + apis.length * names.length);
  await movesToTheGateway(agent, secret, kubeconfig);
});

/** A running konnector gets the gateway's address: what it has stays, edits of the move arrive, and its watches go there. */
async function movesToTheGateway(
  { writes }: Pick<Awaited<ReturnType<typeof startKonnector>>, "writes">,
  secret: Parameters<typeof putKubeconfig>[1],
  kubeconfig: string,
): Promise<void> {
  const all = async (): Promise<readonly string[]> => {
    const lists = await Promise.all(
      [consumer, provider].flatMap(({ client }) => apis.map(({ type }) => client.list<DynamicObject>(type))),
    );
    return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.uid ?? "")).toSorted();
  };
  const [before, from] = [await all(), writes.length];
  await putKubeconfig(consumer, secret, kubeconfig);
  const watchesLeft = async (): Promise<boolean> => (await openWatches(provider)) === apis.length;
  await waitFor("the watches to go to the gateway", watchesLeft);
  for (const { type } of apis) {
    await consumer.client.mergePatch(type, { namespace: "app", name: "past" }, { spec: { size: 4 } });
    const ref = { namespace: serviceNamespaceName(tenantNamespace, "app"), name: "past" };
    await waitFor("the edit upstream", async () => {
      const found = await provider.client.get<DynamicObject>(type, ref);
      return JSON.stringify(found["spec"]) === JSON.stringify({ size: 4 });
    });
  }
  assert.deepEqual(await all(), before, "each object is the one that it was");
  const changes = writes.slice(from).filter((write) => / (create|delete) /.test(write));
  assert.deepEqual(
    changes.filter((write) => apis.some(({ type }) => write.includes(type.plural))),
    [],
  );
}
