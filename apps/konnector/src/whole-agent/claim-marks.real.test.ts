/** A konnector in a cluster that marks new claims itself: it writes no marks, releases what the cluster marked, and marks claims again without the policy. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  apiServiceBindings,
  boundAnnotation,
  claimMarksCondition,
  claimMarks,
  consumerNamespace,
  syncerFinalizer,
} from "@klutch/api";
import { discoverResource } from "@klutch/kube";
import {
  conditionsOf,
  type DynamicObject,
  isTrue,
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
} from "@klutch/kube-core";
import { applyPolicies, waitFor } from "@klutch/kube-testing";
import { bindApi, startKonnector, testApi, widget } from "../testing/fixture.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const widgets = testApi("widgets", "Widget");
const { type, name: api } = widgets;
const fixture = await startTenantFixture({ exported: [widgets] });
const { consumer, kubeconfig, cleanup, onProvider, onConsumer, binding, untilReady } = fixture;
const { client } = consumer;
const konnector = cleanup.use(
  await startKonnector(fixture, { timing: { schemaSettlesMs: 500, massDeletionLimit: 0 } }),
);
const isServed = (await discoverResource(client, mutatingAdmissionPolicies)) !== undefined;

const isMarked = ({ metadata }: DynamicObject): boolean =>
  metadata.finalizers?.includes(syncerFinalizer) === true &&
  metadata.annotations?.[boundAnnotation] === "true";
const create = (name: string): Promise<DynamicObject> =>
  client.create<DynamicObject>(type, widget(type, name, { size: 1 }));
const marksWritten = (): number =>
  konnector.writes.filter((write) => write === "consumer apply widgets").length;
/** Returns the name of a claim that was created so. Until the server knows the schema it refuses claims: the konnector waits a minute, and this test does not. */
const untilMarking = (wanted: boolean): Promise<string> => {
  let attempt = 0;
  return waitFor(`claims ${wanted ? "with" : "without"} marks from the cluster`, async () => {
    const made = await create(`probe-${String(wanted)}-${attempt++}`);
    return isMarked(made) === wanted ? made.metadata.name : undefined;
  });
};

describe("a cluster that marks new claims", {
  skip: isServed ? false : "MutatingAdmissionPolicy v1 is not served",
}, () => {
  test("takes the write of the marks off the konnector, which syncs and deletes as ever", async () => {
    await bindApi(fixture, api, kubeconfig);
    await applyPolicies(client, claimMarks.manifestsOf(api));
    await untilReady(api);
    await waitFor("the konnector's word", async () =>
      isTrue(conditionsOf(await binding(api)), claimMarksCondition),
    );
    const probe = await untilMarking(true);
    await waitFor("the probe upstream", async () => onProvider(type, probe));
    const before = marksWritten();
    const names = Array.from({ length: 20 }, (_, index) => `claim-${index}`);
    for (const one of await Promise.all(names.map(create))) assert.ok(isMarked(one));
    for (const one of names) await waitFor(`${one} upstream`, () => onProvider(type, one));
    assert.equal(marksWritten(), before);
    for (const one of names) await client.delete(type, { namespace: "app", name: one });
    for (const one of names)
      await waitFor(`${one} to be gone`, async () => (await onConsumer(type, one)) === undefined);
    for (const one of names) assert.equal(await onProvider(type, one), undefined);
  });

  test("marks nothing any more once the binding goes, and the konnector releases everything", async () => {
    await client.delete(apiServiceBindings, { namespace: consumerNamespace, name: api });
    const late: Promise<DynamicObject>[] = [];
    await waitFor("the binding to be gone", async () => {
      late.push(create(`late-${late.length}`));
      return (await binding(api)) === undefined;
    });
    for (const made of await Promise.all(late)) {
      const claim = await onConsumer(type, made.metadata.name ?? "");
      assert.deepEqual(claim?.metadata.finalizers ?? [], [], `${made.metadata.name} would stay for ever`);
    }
    const [name = ""] = (await client.list(type)).items.map(({ metadata }) => metadata.name);
    await client.delete(type, { namespace: "app", name });
    assert.equal(await onConsumer(type, name), undefined);
  });

  test("that loses its policies leaves the marks to the konnector again", async () => {
    await bindApi(fixture, api, kubeconfig);
    await waitFor("the konnector's word", async () =>
      isTrue(conditionsOf(await binding(api)), claimMarksCondition),
    );
    await untilMarking(true);
    await client.delete(mutatingAdmissionPolicyBindings, { name: claimMarks.nameOf(api) });
    await client.delete(mutatingAdmissionPolicies, { name: claimMarks.nameOf(api) });
    await untilMarking(false);
    await create("plain");
    await waitFor("the konnector's marks", async () => {
      const claim = await onConsumer(type, "plain");
      return claim !== undefined && isMarked(claim);
    });
    await waitFor("plain upstream", () => onProvider(type, "plain"));
  });
});
