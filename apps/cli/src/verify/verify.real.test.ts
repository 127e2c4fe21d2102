/** `klutch verify` on two real API servers; the konnector's part is played by hand (testing/bound-pair.ts). */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import {
  apiServiceBindings,
  type APIServiceExport,
  apiServiceExports,
  binderName,
  consumerNamespace,
  exportRules,
  providerUidAnnotation,
} from "@klutch/api";
import {
  customResourceDefinitions,
  type DynamicObject,
  isRecord,
  namespaces,
  roleBindings,
  roles,
  secrets,
} from "@klutch/kube-core";
import { roleBindingObject, roleObject } from "@klutch/kube-testing";
import { runCli } from "../program.ts";
import { bindApi } from "../testing/bound-pair.ts";
import { scriptedRun } from "../testing/script.ts";
import { startKlutchFixture } from "../testing/fixture.ts";

const fixture = await startKlutchFixture();
const { consumer, provider, widgets } = fixture;
after(() => fixture[Symbol.asyncDispose]());

test("verify: all invariants hold, and the counts are shown", async () => {
  const run = await fixture.verify();
  assert.equal(run.code, 0, run.stdout() + run.stderr());
  assert.match(run.stdout(), /\nwidgets\.test\.klutch\.dev +bound +2 +2\n/);
  assert.match(run.stdout(), /\nsecrets +claimed +2 +2\n/);
  assert.match(run.stdout(), /\nAll 8 invariants hold\.\n$/);
});

test("verify finds the cluster namespace in the app cluster's own credentials", async (t) => {
  const ref = { namespace: consumerNamespace, name: "kubeconfig-tenant" };
  const kubeconfig = await readFile(fixture.paths.tenant);
  await consumer.client.create<DynamicObject>(secrets, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: ref,
    data: { kubeconfig: kubeconfig.toString("base64") },
  });
  t.after(() => consumer.client.delete(secrets, ref));
  const run = await fixture.run(["verify", fixture.paths.app, fixture.paths.controlPlane]);
  assert.equal(run.code, 0, run.stdout() + run.stderr());
  assert.match(run.stdout(), /\nwidgets\.test\.klutch\.dev +bound +2 +2\n/);
});

/** The annotation that the konnector puts on a binding at its first contact with this provider. */
async function pin(name: string, change: { namespace?: string; system?: string } = {}): Promise<void> {
  const uidOf = async (of: string): Promise<string | undefined> =>
    (await provider.client.get(namespaces, { name: of })).metadata.uid;
  const parts = [
    `namespace=${change.namespace ?? (await uidOf("cluster-a"))}`,
    `kube-system=${change.system ?? (await uidOf("kube-system"))}`,
  ];
  await fixture.patchBinding(name, {
    metadata: { annotations: { [providerUidAnnotation]: parts.join(",") } },
  });
}

test("C13: verify compares bindings as the konnector pins them, and without any of them claims no success", async () => {
  await pin(widgets.name);
  const own = await fixture.verify();
  assert.equal(own.code, 0, own.stdout() + own.stderr());
  assert.match(own.stdout(), /\nwidgets\.test\.klutch\.dev +bound +2 +2\n/);
  assert.match(own.stdout(), /\nAll 8 invariants hold\.\n$/);
  for (const change of [{ system: "other" }, { namespace: "other" }]) {
    await pin(widgets.name, change);
    const other = await fixture.verify();
    assert.equal(other.code, 1, other.stdout());
    assert.match(other.stdout(), /\nNote: widgets\.test\.klutch\.dev is left out: it is bound to another/);
    assert.doesNotMatch(other.stdout(), /invariants hold/);
    assert.match(other.stderr(), /error: Nothing was compared/);
  }
  await pin(widgets.name);
});

test("C13: verify names what it leaves out: another provider's binding is no failure, a missing export is one", async () => {
  const gadgets = await bindApi(consumer, provider, "cluster-a", "gadgets");
  await pin(gadgets.name, { system: "other", namespace: "other" });
  const other = await fixture.verify();
  assert.equal(other.code, 0, other.stdout() + other.stderr());
  assert.match(
    other.stdout(),
    /\nAll 8 invariants hold for the compared objects\. Not compared: gadgets\.test\.klutch\.dev\.\n$/,
  );
  await pin(gadgets.name);
  await provider.client.delete(apiServiceExports, { namespace: "cluster-a", name: gadgets.name });
  const missing = await fixture.verify();
  assert.equal(missing.code, 1);
  assert.match(missing.stderr(), /error: Not compared: gadgets\S+ \(cluster-a has no export of it\)/);
  assert.doesNotMatch(missing.stdout(), /invariants hold/);
  await fixture.patchBinding(gadgets.name, { metadata: { finalizers: null } });
  await consumer.client.delete(apiServiceBindings, { namespace: consumerNamespace, name: gadgets.name });
  await consumer.client.delete(customResourceDefinitions, { name: gadgets.name });
});

test("verify: what may not be read is no success", async () => {
  const run = await fixture.run(["verify", fixture.paths.app, fixture.paths.tenant]);
  assert.equal(run.code, 1);
  assert.match(run.stdout(), /\nNote: widgets in namespace cluster-a-app may not be listed\.\n/);
  assert.match(run.stdout(), /\nNo violation in the compared objects\.\n$/);
  assert.match(run.stderr(), /error: Not compared: widgets\.test\.klutch\.dev, secrets\. Use a kubeconfig/);
  const other = await fixture.run(["verify", fixture.paths.app, fixture.paths.controlPlane, "-n", "default"]);
  assert.equal(other.code, 1);
  assert.match(other.stderr(), /error: Nothing was compared: no binding .* in cluster namespace default/);
});

test("verify: the tenant's own kubeconfig is enough, and it says what it left out", async () => {
  await allowTenant();
  const run = await fixture.run(["verify", fixture.paths.app, fixture.paths.tenant, "-o", "json"]);
  assert.equal(run.code, 0, run.stdout() + run.stderr());
  const report: unknown = JSON.parse(run.stdout());
  assert.ok(isRecord(report) && Array.isArray(report["notes"]));
  assert.equal(report["namespace"], "cluster-a");
  assert.deepEqual(report["violations"], []);
  assert.match(report["notes"].join("\n"), /Namespaces of the control plane may not be listed/);
});

/** The rights that a backend gives to tenants in their service namespaces. */
async function allowTenant(): Promise<void> {
  const exports = await provider.client.list<APIServiceExport>(apiServiceExports, { namespace: "cluster-a" });
  const own = { namespace: "cluster-a-app", name: binderName };
  await provider.client.create(roles, roleObject(own, exportRules(exports.items)));
  const account = { namespace: "cluster-a", name: binderName };
  const binding = roleBindingObject(own, { kind: "Role", name: binderName }, account);
  await provider.client.create(roleBindings, binding);
}

test("verify: what differs twice is a violation and ends with exit code 1; both kinds of clusters are named", async () => {
  const { type } = widgets;
  const mirror = { namespace: "cluster-a-app", name: "one" };
  await provider.client.mergePatch(type, mirror, { spec: { size: 9 } });
  await provider.client.delete(type, { ...mirror, name: "two" });
  const run = await fixture.verify("-o", "json");
  assert.equal(run.code, 1);
  assert.match(run.stderr(), /2 deviations; looking again\nerror: 2 violations found\.\n$/);
  const report: unknown = JSON.parse(run.stdout());
  assert.ok(isRecord(report) && Array.isArray(report["violations"]));
  assert.deepEqual(
    report["violations"].filter(isRecord).map(({ invariant, object }) => [invariant, object]),
    [
      ["Content", "widgets.test.klutch.dev app/one"],
      ["OneToOne", "widgets.test.klutch.dev app/two"],
    ],
  );
  const text = await fixture.verify();
  assert.match(
    text.stdout(),
    /\nContent +app cluster +widgets\.test\.klutch\.dev app\/one +spec\.size is not what/,
  );
  await provider.client.mergePatch(type, mirror, { spec: { size: 3 } });
});

test("verify: what only the first reading shows was on its way", async () => {
  const { type } = widgets;
  const claim = await consumer.client.get<DynamicObject>(type, { namespace: "app", name: "two" });
  const content = {
    apiVersion: claim.apiVersion,
    kind: claim.kind,
    metadata: {
      name: "two",
      namespace: "cluster-a-app",
      labels: { team: "blue" },
      annotations: { "klutch.anynines.com/bound": "true" },
    },
    spec: claim.spec,
    status: claim.status,
  };
  const run = scriptedRun({ env: {} });
  const clock = {
    ...run.context.clock,
    // The konnector's write arrives between the two readings.
    async sleep() {
      await provider.client.create(type, content);
      await provider.client.mergePatch(
        type,
        { namespace: "cluster-a-app", name: "two" },
        { status: claim.status },
        { subresource: "status" },
      );
    },
  };
  const args = ["verify", fixture.paths.app, fixture.paths.controlPlane, "-n", "cluster-a"];
  assert.equal(await runCli("klutch", args, { ...run.context, clock }), 0, run.stdout() + run.stderr());
  assert.match(run.stderr(), /1 deviation; looking again/);
});

test("verify finds a Secret of the app cluster at the provider that no claim lets leave, without its contents", async () => {
  const metadata = {
    name: "private",
    namespace: "cluster-a-app",
    annotations: { "klutch.anynines.com/resource-owner": "Consumer" },
  };
  const data = { key: Buffer.from("hunter2").toString("base64") };
  await provider.client.create<DynamicObject>(secrets, { apiVersion: "v1", kind: "Secret", metadata, data });
  const run = await fixture.verify();
  assert.equal(run.code, 1);
  assert.match(
    run.stdout(),
    /Claimed +control plane +secrets cluster-a-app\/private +comes from the consumer.*no accepted claim/,
  );
  assert.doesNotMatch(run.stdout() + run.stderr(), /hunter2|aHVudGVyMg/);
  await provider.client.delete(secrets, metadata);
});

test("verify: wrong arguments are named with what would be right", async () => {
  const args = ["verify", fixture.paths.app, fixture.paths.controlPlane];
  const missing = await fixture.run([...args, "-n", "cluster-z"]);
  assert.match(missing.stderr(), /error: The control plane has no namespace cluster-z\. Pass --namespace/);
  const none = await fixture.run(args);
  assert.match(none.stderr(), /no kubeconfig of a provider\. Pass --namespace/);
  const format = await fixture.run([...args, "-n", "cluster-a", "-o", "yaml"]);
  assert.match(format.stderr(), /-o "yaml".*\bjson\b/);
  const gone = await fixture.run(["verify", fixture.paths.app]);
  assert.match(gone.stderr(), /missing required argument 'control-plane'/);
  assert.deepEqual([missing.code, none.code, format.code, gone.code], [1, 1, 1, 1]);
});
