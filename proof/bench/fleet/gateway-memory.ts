/** Measures the memory of a gateway against the objects that it keeps, just after its start: no events of the last minutes are in it. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  apiServiceExports,
  apiServiceNamespaces,
  bindCrds,
  clusterBindings,
  exportFromCrd,
} from "@klutch/api";
import { createKubeClient, systemRandom } from "@klutch/kube";
import { namespaces } from "@klutch/kube-core";
import {
  installKinds,
  namespaceObject,
  objectOfType,
  startCluster,
  startGatewayProcess,
  waitFor,
  samplesOf,
} from "@klutch/kube-testing";
import { BenchApi, inParallel } from "../harness/api.ts";
import { memoryOf } from "../harness/process-memory.ts";
import { formatTable } from "../harness/statistics.ts";
import { randomText } from "../harness/widget.ts";
import { timedKind } from "./kinds.ts";

const namespace = "objects";
const specBytes = 2048;
const restSeconds = 20;

/** Creates claims up to each of these numbers, starts the gateway again each time, and returns the table of what it uses. */
export async function measureGatewayMemory(sizes: readonly number[]): Promise<string> {
  await using cluster = await startCluster({ name: "gateway-memory" });
  const { crd, crdName, type } = timedKind;
  await installKinds(cluster.client, [...bindCrds, crd]);
  await cluster.client.create(namespaces, namespaceObject(namespace));
  const { spec } = exportFromCrd(crd);
  const exported = { spec: { ...spec, informerScope: "Namespaced" } };
  await cluster.client.create(
    apiServiceExports,
    objectOfType(apiServiceExports, { namespace, name: crdName }, exported),
  );
  const kinds = [apiServiceExports, apiServiceNamespaces, clusterBindings, type];
  await using gateway = await startGatewayProcess(cluster, { kinds });
  await using client = createKubeClient({ ...cluster.config, server: gateway.url }, { flowControl: false });
  await using api = new BenchApi(cluster.config);
  const metric = async (name: string): Promise<number> => {
    const answer = await fetch(`${gateway.probeUrl}/metrics`);
    return samplesOf(await answer.text(), name)[0]?.value ?? 0;
  };
  const rows: string[][] = [];
  let made = 0;
  for (const size of [0, ...sizes.toSorted((one, other) => one - other)]) {
    const indices = Array.from({ length: size - made }, (_, at) => made + at);
    await inParallel(indices, async (index) => {
      const contents = { spec: { text: randomText(systemRandom, specBytes) } };
      await api.create(type, objectOfType(type, { namespace, name: `claim-${index}` }, contents));
    });
    made = size;
    await gateway.restart();
    // The first use of a kind makes the gateway follow it; a namespace without claims is enough.
    await waitFor("all objects to be in the gateway", async () => {
      await client.list(type, { namespace: "default", resourceVersion: "0" });
      return (await metric("klutch_gateway_objects")) >= size;
    });
    await sleep(restSeconds * 1000);
    const { rss, peak } = memoryOf(gateway.pid);
    const bytes = (await metric("klutch_gateway_bytes")) / 1024 ** 2;
    rows.push([String(size), `${bytes.toFixed(1)} MiB`, `${rss.toFixed(0)} MiB`, `${peak.toFixed(0)} MiB`]);
    console.log(rows.at(-1)?.join(", "));
  }
  return formatTable(["claims", "bytes of objects", "RSS of the gateway", "peak"], rows);
}
