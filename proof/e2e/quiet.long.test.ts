/**
 * The alerts as they ship, in a real Prometheus, over a sandbox in which nothing is wrong: none may fire. KLUTCH_QUIET_MINUTES says for how long;
 * by default 10 minutes, the longest wait of an alert.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { namespaces } from "@klutch/kube-core";
import { namespaceObject, startAlertWatch } from "@klutch/kube-testing";
import { bindings, instances, nano } from "./claim-kinds.ts";
import { Claims } from "./claims.ts";
import { startOwnSandbox } from "./own-sandbox.ts";
import { explainFailures } from "./sandbox-ends.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const minutes = Number(process.env["KLUTCH_QUIET_MINUTES"] ?? 10);
const sandbox = stack.use(await startOwnSandbox("quiet"));
explainFailures(sandbox);

/** Returns the ports of metrics that the sandbox printed, of programs whose name fits. */
function portsOf(name: RegExp): readonly number[] {
  const lines = sandbox.printed().matchAll(/^ {2}metrics +http:\/\/127\.0\.0\.1:(\d+)\/metrics +(.+)$/gm);
  return [...lines].flatMap(([, port, program = ""]) => (name.test(program) ? [Number(port)] : []));
}

await sandbox.bind(instances.plural, bindings.plural);
const client = await sandbox.client("app-a");
await client.create(namespaces, namespaceObject("quiet"));
const claims = new Claims(client, "quiet");
await claims.create(instances, "one", nano);
await claims.ready(instances, "one");
const konnector = portsOf(/^app-a konnector/);
const ports = { backend: portsOf(/^backend$/), provider: portsOf(/^provider$/), konnector };
for (const [program, found] of Object.entries(ports)) assert.notDeepEqual(found, [], program);
const watch = stack.use(await startAlertWatch({ ports, fasterBy: 1 }));
await watch.settles();

// One test for all of it would be silent for longer than a test may be.
for (let passed = 0; passed < minutes; passed += 10) {
  const left = Math.min(10, minutes - passed);
  test(`no alert fires in ${passed + left} minutes without a fault`, {
    timeout: left * 120_000,
  }, async (t) => {
    await new Promise((resolve) => setTimeout(resolve, left * 60_000));
    assert.deepEqual(await watch.fired(), []);
    await claims.ready(instances, "one");
    t.diagnostic(`now waiting: ${String(await watch.active())}`);
  });
}
