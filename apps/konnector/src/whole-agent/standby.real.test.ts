/** A standby as it ships, in one bundle: it asks for the lease and nothing else, stays small, and loads the agent when it takes over. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { consumerNamespace, konnectorRuntime } from "@klutch/api";
import { reservePorts, run, startProcess } from "@klutch/engines";
import { formatKubeconfig, systemClock } from "@klutch/kube";
import { startFaultProxy, waitFor } from "@klutch/kube-testing";
import { agentConfig, startFixture, startKonnector } from "../testing/fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { consumer } = stack.use(await startFixture());
const bundle = join(consumer.dataDir, "konnector.mjs");
const build = join(import.meta.dirname, "..", "..", "..", "..", "tools", "build", "main.ts");
await run(process.execPath, [build, "konnector", bundle]);

/** V8's heap and what belongs to it outside, in MiB. A standby has 9.4 and 4.3; before its bundle was lean it had 14.9 and 6.2. */
const most = { heap: 10.5, external: 5 };

test("a standby asks for the lease only, is small, and works when the leader is gone", async () => {
  const leader = await startKonnector({ consumer }, { identity: "leader" });
  stack.defer(() => leader[Symbol.asyncDispose]());
  await waitFor("the leader to work", () => leader.watches.length > 0);
  await using proxy = await startFaultProxy(consumer);
  const kubeconfig = join(consumer.dataDir, "standby.kubeconfig");
  const config = { ...(await agentConfig(consumer)), server: proxy.config.server };
  await writeFile(kubeconfig, formatKubeconfig(config), { mode: 0o600 });
  await using reserved = await reservePorts(1);
  const probes = `http://127.0.0.1:${reserved.ports[0]}`;
  const logFile = join(consumer.dataDir, "standby.log");
  await using standby = await startProcess({
    name: "standby",
    command: process.execPath,
    args: [
      bundle,
      `--lease-namespace=${consumerNamespace}`,
      "--probe-host=127.0.0.1",
      `--probe-port=${reserved.ports[0]}`,
    ],
    env: { ...konnectorRuntime, POD_NAME: "standby", KUBECONFIG: kubeconfig },
    logFile,
    ready: async () => (await fetch(`${probes}/readyz`)).ok,
  });
  // It collects the garbage of its start after five seconds.
  await systemClock.sleep(8_000);
  const leases = `GET /apis/coordination.k8s.io/v1/namespaces/${consumerNamespace}/leases`;
  // It reads the lease, and watches it.
  assert.deepEqual([...new Set(proxy.requests)].toSorted(), [leases, `${leases}/${consumerNamespace}`]);
  const metrics = await (await fetch(`${probes}/metrics`)).text();
  const heap = mebibytes(metrics, "nodejs_heap_size_used_bytes");
  const external = mebibytes(metrics, "nodejs_external_memory_bytes");
  assert.ok(heap <= most.heap && external <= most.external, `heap ${heap} MiB, external ${external} MiB`);
  await leader[Symbol.asyncDispose]();
  const given = systemClock.now();
  await waitFor("the bindings to be watched", () =>
    proxy.requests.some((request) => request.endsWith("/apiservicebindings")),
  );
  const tookMs = systemClock.now() - given;
  assert.ok(tookMs < 5_000, `${tookMs} ms until it watched the bindings`);
  assert.equal(standby.hasExited, false, await readFile(logFile, "utf8"));
});

function mebibytes(metrics: string, name: string): number {
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(metrics)?.[1]) / 2 ** 20;
}
