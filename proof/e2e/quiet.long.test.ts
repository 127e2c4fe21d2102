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

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const minutes = Number(process.env["KLUTCH_QUIET_MINUTES"] ?? 10);
const sandbox = stack.use(await startOwnSandbox("quiet"));

/** Returns the ports of metrics that the sandbox printed, of programs whose name fits. */
function portsOf(name: RegExp): readonly number[] {
  const lines = sandbox.printed().matchAll(/^ {2}metrics +http:\/\/127\.0\.0\.1:(\d+)\/metrics +(.+)$/gm);
  return [...lines].flatMap(([, port, program = ""]) => (name.test(program) ? [Number(port)] : []));
}

test(`no alert fires in ${minutes} minutes without a fault`, async (t) => {
  await sandbox.bind(instances.plural, bindings.plural);
  const client = await sandbox.client("app-a");
  await client.create(namespaces, namespaceObject("quiet"));
  const claims = new Claims(client, "quiet");
  await claims.create(instances, "one", nano);
  await claims.ready(instances, "one");
  const konnector = portsOf(/^app-a konnector/);
  const ports = { backend: portsOf(/^backend$/), provider: portsOf(/^provider$/), konnector };
  for (const [program, found] of Object.entries(ports)) assert.notDeepEqual(found, [], program);
  await using watch = await startAlertWatch({ ports, fasterBy: 1 });
  await watch.settles();
  await new Promise((resolve) => setTimeout(resolve, minutes * 60_000));
  assert.deepEqual(await watch.fired(), []);
  await claims.ready(instances, "one");
  t.diagnostic(`${minutes} minutes; now waiting: ${String(await watch.active())}`);
});
