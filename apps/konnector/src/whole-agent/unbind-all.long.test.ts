/** `klutch unbind --all` as a process, beside a konnector that works, between two real API servers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { boundAnnotation, releaseDeletionsAnnotation } from "@klutch/api";
import { waitFor } from "@klutch/kube-testing";
import { bindApi, startKonnector, testApi } from "../testing/fixture.ts";
import { klutchProcess } from "../testing/klutch-process.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const widgets = testApi("widgets", "Widget");
const gadgets = testApi("gadgets", "Gadget");
const fixture = await startTenantFixture({ exported: [widgets, gadgets] });
const { consumer, kubeconfig, cleanup, onProvider, onConsumer, binding, untilReady, untilReason } = fixture;
const { createSynced } = fixture;
cleanup.use(await startKonnector(fixture, { timing: { massDeletionLimit: 3 } }));
const klutch = await klutchProcess(fixture);

test("unbind --all begins nothing while the konnector holds deletions, and goes through when they are decided", async () => {
  for (const { name } of [widgets, gadgets]) {
    await bindApi(fixture, name, kubeconfig);
    await untilReady(name);
  }
  const names = ["a", "b", "c", "d", "e", "f"];
  for (const name of names) await createSynced(widgets.type, name);
  await createSynced(gadgets.type, "kept", { size: 7 });
  for (const name of names) await consumer.client.delete(widgets.type, { namespace: "app", name });
  await untilReason(widgets.name, "DeletionHeld", "MassDeletion");
  const args = ["unbind", "--all", "--yes", "--keep-konnector", "--timeout=60s"];
  const refused = await klutch(...args);
  assert.equal(refused.code, 1, refused.text);
  assert.match(refused.text, /holds back deletions of widgets\S+ \(6 of 6 claims[^]*Nothing was changed/);
  for (const { name } of [widgets, gadgets])
    assert.equal((await binding(name))?.metadata.deletionTimestamp, undefined);
  const released = await klutch("release", widgets.name);
  assert.equal(released.code, 0, released.text);
  assert.match(released.text, new RegExp(releaseDeletionsAnnotation));
  await untilReady(widgets.name);
  const run = await klutch(...args);
  assert.equal(run.code, 0, run.text);
  assert.match(run.text, /APIServiceBinding klutch-bind\/widgets\S+ is gone\./);
  assert.match(run.text, /The konnector stays \(--keep-konnector\)\./);
  for (const { name } of [widgets, gadgets])
    await waitFor(`${name} to be gone`, async () => (await binding(name)) === undefined);
  const claim = await onConsumer(gadgets.type, "kept");
  assert.equal(claim?.metadata.finalizers, undefined);
  assert.equal(claim?.metadata.annotations?.[boundAnnotation], undefined);
  assert.deepEqual((await onProvider(gadgets.type, "kept"))?.["spec"], { size: 7 });
  assert.equal(await onProvider(widgets.type, "a"), undefined);
});

test("unbind --all --delete deletes claims and their counterparts, and nothing stays undeletable", async () => {
  await bindApi(fixture, gadgets.name, kubeconfig);
  await untilReady(gadgets.name);
  const run = await klutch("unbind", "--all", "--delete", "--yes", "--keep-konnector", "--timeout=60s");
  assert.equal(run.code, 0, run.text);
  assert.equal(await onConsumer(gadgets.type, "kept"), undefined);
  assert.equal(await onProvider(gadgets.type, "kept"), undefined);
});
