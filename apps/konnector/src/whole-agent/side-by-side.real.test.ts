/** A new claim's marks and its upstream object go out side by side, between two real API servers: claims that go at once, and marks that are refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { syncerFinalizer } from "@klutch/api";
import {
  type DynamicObject,
  refOfObject,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { startTenantFixture } from "../testing/tenant-fixture.ts";
import { bindApi, startKonnector, testApi, widget } from "../testing/fixture.ts";

const widgets = testApi("widgets", "Widget");
const { type } = widgets;
const fixture = await startTenantFixture({ exported: [widgets] });
const { consumer, provider, kubeconfig, cleanup, onProvider, onConsumer, untilReady, createSynced } = fixture;
// People may delete most of what they have here.
const konnector = cleanup.use(await startKonnector(fixture, { timing: { massDeletionLimit: 0 } }));
await bindApi(fixture, widgets.name, kubeconfig);
await untilReady(widgets.name);
await createSynced(type, "first");

const namesAt = async ({ client }: typeof provider): Promise<string> => {
  const { items } = await client.list<DynamicObject>(type);
  const names = items.map(({ metadata }) => metadata.name ?? "");
  return names.toSorted().join();
};

test("of claims that are deleted at once nothing is left on either side, and those that stay have their marks and upstream objects", async () => {
  const numbers = Array.from({ length: 60 }, (_, index) => index);
  const before = konnector.writes.length;
  await Promise.all(
    numbers.map(async (number) => {
      const made = await consumer.client.create<DynamicObject>(
        type,
        widget(type, `quick-${number}`, { number }),
      );
      // From before the marks until after the upstream object was made.
      await new Promise((resolve) => setTimeout(resolve, number / 2));
      if (number % 4 !== 0) await consumer.client.delete(type, refOfObject(made));
    }),
  );
  const stay = numbers.filter((number) => number % 4 === 0).map((number) => `quick-${number}`);
  const wanted = ["first", ...stay].toSorted().join();
  await waitFor(
    "exactly the upstream objects of living claims",
    async () => (await namesAt(provider)) === wanted,
  );
  await waitFor("no other claim", async () => (await namesAt(consumer)) === wanted);
  for (const name of stay) {
    const marked = async (): Promise<boolean> =>
      (await onConsumer(type, name))?.metadata.finalizers?.includes(syncerFinalizer) === true;
    await waitFor(`the marks of ${name}`, marked);
  }
  const deletes = konnector.writes.slice(before).filter((write) => write === "provider delete widgets");
  assert.ok(deletes.length <= numbers.length, `${deletes.length} deletes`);
});

test("a claim whose marks its cluster refuses has its upstream object and says why; deleted, it takes the object with it", async () => {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const metadata = { name: "no-finalizers" };
  const { group, version, plural } = type;
  const operations = ["UPDATE"];
  const rule = { apiGroups: [group], apiVersions: [version], resources: [plural], operations };
  await consumer.client.create<DynamicObject>(validatingAdmissionPolicies, {
    apiVersion,
    kind: validatingAdmissionPolicies.kind,
    metadata,
    spec: {
      failurePolicy: "Fail",
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: "!has(object.metadata.finalizers)", message: "no finalizers here" }],
    },
  });
  await consumer.client.create<DynamicObject>(validatingAdmissionPolicyBindings, {
    apiVersion,
    kind: validatingAdmissionPolicyBindings.kind,
    metadata,
    spec: { policyName: metadata.name, validationActions: ["Deny"] },
  });
  const probe = { metadata: { finalizers: ["example.org/probe"] } };
  await waitFor("the policy to be in force", () =>
    consumer.client.mergePatch(type, { namespace: "app", name: "quick-0" }, probe, { dryRun: true }).then(
      () => false,
      () => true,
    ),
  );
  await createSynced(type, "refused");
  assert.equal((await onConsumer(type, "refused"))?.metadata.finalizers, undefined);
  await consumer.client.delete(type, { namespace: "app", name: "refused" });
  await waitFor(
    "the upstream object to be gone",
    async () => (await onProvider(type, "refused")) === undefined,
  );
  for (const one of [validatingAdmissionPolicyBindings, validatingAdmissionPolicies])
    await consumer.client.delete(one, metadata);
});
