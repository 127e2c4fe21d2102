/** Tests the output after binding, against a real API server; the tests write the konnector's lease and conditions by hand. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type APIServiceBinding, apiServiceBindings, consumerNamespace } from "@klutch/api";
import { type Clock, systemClock } from "@klutch/kube";
import { type DynamicObject, leases, microTime, namespaces } from "@klutch/kube-core";
import { leaseCluster } from "@klutch/kube-testing";
import { bindingOf } from "./consumer.ts";
import { showBindings } from "./show-bindings.ts";
import { prepareConsumer } from "../testing/provider-side.ts";
import { type ScriptedRun, scriptedRun } from "../testing/script.ts";

const cluster = await leaseCluster({ name: "shown" });
after(() => cluster[Symbol.asyncDispose]());
const { client } = cluster;
await prepareConsumer(cluster);
await client.create(namespaces, {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: consumerNamespace },
});
const name = "widgets.test.klutch.dev";
const created = await client.create<APIServiceBinding>(apiServiceBindings, bindingOf(name, "remote", []));

/** Runs it with a clock that only sleeping moves; `whileAsleep` is what the konnector does meanwhile. */
async function show(whileAsleep: () => Promise<void> = async () => {}): Promise<ScriptedRun> {
  let now = 0;
  const clock: Clock = {
    ...systemClock,
    monotonic: () => now,
    async sleep(delayMs) {
      now += delayMs;
      await whileAsleep();
    },
  };
  const run = scriptedRun();
  const consumer = {
    side: "consumer",
    name: "a test",
    place: "a test",
    client,
    [Symbol.asyncDispose]: async () => {},
  } as const;
  const options = { output: undefined, showManagedFields: false };
  await showBindings({ ...run.context, clock }, consumer, [created], options);
  return run;
}

async function report(status: "True" | "False", message: string): Promise<void> {
  const conditions = [{ type: "Ready", status, message, lastTransitionTime: "2026-01-01T00:00:00Z" }];
  const ref = { namespace: consumerNamespace, name };
  const patch = { status: { conditions, providerPrettyName: "Example" } };
  await client.mergePatch(apiServiceBindings, ref, patch, { subresource: "status" });
}

test("without a konnector nothing is waited for, and the person is told how to see it start", async () => {
  const run = await show(() => assert.fail("it waited"));
  assert.match(run.stdout(), /^NAME .*\nwidgets\.test\.klutch\.dev .*\n$/);
  assert.match(
    run.stderr(),
    /^No konnector .* in this cluster yet\b.*: kubectl --namespace klutch-bind get pods\n$/,
  );
});

test("while a konnector works, the table shows the state of the binding and the next step", async () => {
  const renewTime = microTime(systemClock.now());
  await client.create<DynamicObject>(leases, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace: consumerNamespace, name: consumerNamespace },
    spec: { holderIdentity: "konnector-0", leaseDurationSeconds: 600, renewTime, acquireTime: renewTime },
  });
  const late = await show(() => report("False", "the provider cannot be reached"));
  assert.match(late.stdout(), /False +the provider cannot be reached/);
  assert.match(
    late.stderr(),
    /^Waiting for the konnector.*\n.*\bnot ready yet\. .* get apiservicebindings\. .*klutch doctor\.?\n$/,
  );
  const run = await show(() => report("True", ""));
  assert.match(run.stdout(), /widgets\.test\.klutch\.dev +Example +True/);
  assert.match(run.stderr(), /\nNext: kubectl explain widgets\.spec\n$/);
});
