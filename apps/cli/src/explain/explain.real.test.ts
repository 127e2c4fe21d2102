/** `klutch explain` on real API servers, with the rights of a developer and of an operator; konnector and Crossplane are played by hand. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { formatKubeconfig } from "@klutch/kube";
import {
  customResourceDefinitions,
  type DynamicObject,
  namespaces,
  type ResourceType,
  roleBindings,
  roles,
  serviceAccounts,
} from "@klutch/kube-core";
import {
  accountConfig,
  anyObject,
  crdObject,
  namespaceObject,
  roleBindingObject,
  roleObject,
  serviceAccountObject,
  untilServed,
} from "@klutch/kube-testing";
import { startKlutchFixture } from "../testing/fixture.ts";
import type { Finished } from "../testing/run.ts";

const fixture = await startKlutchFixture();
after(() => fixture[Symbol.asyncDispose]());
const folder = await mkdtemp(join(tmpdir(), "klutch-explain-"));
after(() => rm(folder, { recursive: true }));
const { consumer, provider, widgets, paths } = fixture;
await fixture.makeHealthy();

/** A developer of namespace `app`, who may read widgets there and nothing else. */
const developer = { namespace: "app", name: "developer" };
await consumer.client.create(serviceAccounts, serviceAccountObject(developer));
const rules = [{ apiGroups: [widgets.type.group], resources: ["widgets"], verbs: ["get", "list"] }];
await consumer.client.create(roles, roleObject(developer, rules));
await consumer.client.create(
  roleBindings,
  roleBindingObject(developer, { kind: "Role", name: "developer" }, developer),
);
const kubeconfig = join(folder, "developer");
const config = { ...(await accountConfig(consumer, developer)), namespace: "app" };
await writeFile(kubeconfig, formatKubeconfig(config));

const asDeveloper = (...args: readonly string[]): Promise<Finished> =>
  fixture.run(["explain", ...args], { env: { KUBECONFIG: kubeconfig } });
const above = ["--control-plane-kubeconfig", paths.controlPlane, "--tenant", "cluster-a"];
const asOperator = (...args: readonly string[]): Promise<Finished> =>
  fixture.run(["explain", ...args, "-n", "app"]);

async function says(name: string, status: object): Promise<void> {
  const ref = { namespace: "app", name };
  await consumer.client.mergePatch(widgets.type, ref, { status }, { subresource: "status" });
}
const condition = (type: string, status: string, reason: string, message = ""): object => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: "2026-01-01T00:00:00Z",
});

test("a developer who may read the claim only sees its way, the cause and the next command; the exit code is 2", async () => {
  await says("one", { conditions: [condition("Ready", "True", "Available")] });
  const well = await asDeveloper("widget/one");
  assert.equal(well.code, 0, well.stderr());
  assert.match(
    well.stdout(),
    /^Widget app\/one \(widgets\.test\.klutch\.dev\): well\n[^]*\nAll is well\.\n$/,
  );
  assert.equal(well.stderr(), "");
  await says("one", {
    conditions: [condition("Ready", "False", "Refused", "the plan is unknown; change spec.plan")],
  });
  const refused = await asDeveloper("widgets.test.klutch.dev", "one");
  assert.equal(refused.code, 2, refused.stderr());
  assert.match(
    refused.stdout(),
    /\ncause +the plan is unknown; change spec\.plan\nwho +the developer can fix it\nnext +kubectl edit widgets\.test\.klutch\.dev one -n app\n/,
  );
  const json = await asDeveloper("Widget/one", "-o", "json");
  assert.equal(json.code, 2);
  const { state, waitsFor, who, from } = JSON.parse(json.stdout()) as Readonly<Record<string, unknown>>;
  assert.deepEqual([state, waitsFor, who, from], ["failed", "broker", "developer", "app cluster"]);
  assert.match((await asDeveloper("widget/one", "-o", "yaml")).stdout(), /^state: failed$/m);
});

test("another namespace shows only what the caller may read, and the errors say what would be right", async () => {
  await consumer.client.create(namespaces, namespaceObject("other"));
  const metadata = { namespace: "other", name: "secret-plans" };
  const body = { apiVersion: "test.klutch.dev/v1", kind: "Widget", metadata, spec: { size: 77 } };
  await consumer.client.create<DynamicObject>(widgets.type, body);
  const refused = await asDeveloper("widget/secret-plans", "-n", "other");
  assert.equal(refused.code, 1);
  assert.equal(refused.stdout(), "");
  assert.match(refused.stderr(), /forbidden/);
  const missing = await asDeveloper("widget/guessed", "-n", "other");
  assert.equal(
    missing.stderr().replaceAll("guessed", "secret-plans"),
    refused.stderr(),
    "no one learns which exist",
  );
  for (const [args, words] of [
    [["widget/none"], /There is no Widget none in namespace app; -n chooses another/],
    [["wigdet/one"], /serves no kind wigdet\. Did you mean widget/],
    [["one"], /names no claim; write <kind>\/<name>/],
    [["widget/one", "-o", "xml"], /Unknown output format -o "xml": use json, yaml/],
    [["widget/one", "--tenant", "cluster-a"], /--tenant needs --control-plane-kubeconfig/],
  ] as const) {
    const run = await asDeveloper(...args);
    assert.equal(run.code, 1, args.join(" "));
    assert.match(run.stderr(), words);
  }
});

test("a status of a megabyte with escapes prints bounded and harmless", async () => {
  const message = `\u001b]0;owned\u0007\u202e<b>${"x".repeat(950_000)}`;
  await says("two", {
    conditions: [condition("Ready", "False", "Refused", message)],
    managed: { state: "\u001b[2J", credentials: { name: "a\u001b[2Jb" }, createdAt: "2999-99-99" },
  });
  const run = await asDeveloper("widget/two");
  assert.equal(run.code, 2, run.stderr());
  assert.ok(run.stdout().length < 5_000, String(run.stdout().length));
  for (const text of [run.stdout(), (await asDeveloper("widget/two", "-o", "json")).stdout()])
    for (const character of ["\u001b", "\u0007", "\u202e"])
      assert.ok(!text.includes(character), text.slice(0, 500));
  await says("two", { conditions: [condition("Ready", "True", "Available")] });
});

const composites: ResourceType = {
  group: "test.klutch.dev",
  version: "v1",
  plural: "xwidgets",
  kind: "XWidget",
  namespaced: false,
};
const boxes: ResourceType = {
  group: "boxes.klutch.dev",
  version: "v1",
  plural: "boxes",
  kind: "Box",
  namespaced: false,
};
const upstream = { namespace: "cluster-a-app", name: "one" };

async function compose(conditions: readonly object[], metadata: object = {}): Promise<void> {
  const patch = { metadata, status: { conditions } };
  await provider.client.mergePatch(composites, { name: "one-x7" }, patch);
  await provider.client.mergePatch(
    composites,
    { name: "one-x7" },
    { status: { conditions } },
    { subresource: "status" },
  );
}

test("an operator sees the composite, the managed resources and the deepest cause", async () => {
  const { client } = provider;
  const owner = {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "CompositeResourceDefinition",
    name: "xwidgets.test.klutch.dev",
    uid: "u",
  };
  await client.mergePatch(
    customResourceDefinitions,
    { name: widgets.name },
    { metadata: { ownerReferences: [owner] } },
  );
  for (const type of [composites, boxes]) {
    const crd = crdObject(type, { properties: { spec: anyObject, status: anyObject }, hasStatus: true });
    await client.create(customResourceDefinitions, crd);
    await untilServed(client, crd.metadata.name ?? "");
  }
  await says("one", { conditions: [condition("Ready", "False", "Waiting", "Claim is waiting")] });
  const none = await asOperator("widget/one", ...above);
  assert.equal(none.code, 2, none.stderr());
  assert.match(none.stdout(), /\nwaiting +composite .*Crossplane has made no composite/);
  const refs = [{ apiVersion: "boxes.klutch.dev/v1", kind: "Box", name: "one-x7-box" }];
  const spec = { resourceRefs: refs };
  await client.create<DynamicObject>(composites, {
    apiVersion: "test.klutch.dev/v1",
    kind: "XWidget",
    metadata: { name: "one-x7" },
    spec,
  });
  const resourceRef = { apiVersion: "test.klutch.dev/v1", kind: "XWidget", name: "one-x7" };
  await client.mergePatch(widgets.type, upstream, { spec: { resourceRef } });
  const inSync = [condition("Synced", "True", "ReconcileSuccess"), condition("Ready", "False", "Creating")];
  await compose(inSync);
  const seen = async (): Promise<string> => {
    const run = await asOperator("widget/one", ...above);
    assert.equal(run.code, 2, run.stdout() + run.stderr());
    return run.stdout();
  };
  assert.match(await seen(), /\nwaiting +managed resource +Box\/one-x7-box: it does not exist yet/);
  await client.create<DynamicObject>(boxes, {
    apiVersion: "boxes.klutch.dev/v1",
    kind: "Box",
    metadata: { name: "one-x7-box" },
    spec: {},
  });
  assert.match(await seen(), /\nwaiting +managed resource .*no provider has worked on it/);
  const status = {
    conditions: [condition("Synced", "False", "BrokerUnreachable", "broker.example.org does not answer")],
  };
  await client.mergePatch(boxes, { name: "one-x7-box" }, { status }, { subresource: "status" });
  assert.match(
    await seen(),
    /\ncause +BrokerUnreachable: broker\.example\.org does not answer\nwho +the operator of the broker/,
  );
  await compose(inSync, { annotations: { "crossplane.io/paused": "true" } });
  assert.match(
    await seen(),
    /\ncause +it is paused by the annotation crossplane\.io\/paused\nwho +an operator/,
  );
  await compose(
    [
      condition(
        "Synced",
        "False",
        "ReconcileError",
        "cannot select Composition: no compatible Compositions found",
      ),
    ],
    { annotations: null },
  );
  assert.match(
    await seen(),
    /\nfailed +composite .*XWidget\/one-x7: ReconcileError: cannot select Composition/,
  );
  await consumer.client.mergePatch(widgets.type, { namespace: "app", name: "one" }, { spec: { size: 4 } });
  assert.match(
    await seen(),
    /\nwaiting +written above .*the control plane has an earlier spec[^]*\nnote: The steps above are about/,
  );
});

test("from the control plane alone the way above is explained, and the rest is asked for in the app cluster", async () => {
  const run = await fixture.run(["explain", "widgets/one", "-n", "cluster-a-app"], {
    env: { KUBECONFIG: paths.controlPlane },
  });
  assert.equal(run.code, 2, run.stderr());
  assert.match(run.stdout(), /\n\? +seen by the agent +ask in the app cluster\n[^]*\nfailed +composite +/);
});

test("a namespace that another tenant owns is not read as this one's", async () => {
  await provider.client.create(namespaces, namespaceObject("cluster-b"));
  await provider.client.create(
    namespaces,
    namespaceObject("cluster-b-app", { "klutch.anynines.com/api-service-namespace": "cluster-a/app" }),
  );
  const metadata = {
    namespace: "cluster-b-app",
    name: "one",
    annotations: { "klutch.anynines.com/bound": "true" },
  };
  const status = { conditions: [condition("Ready", "False", "Refused", "of another tenant")] };
  await provider.client.create<DynamicObject>(widgets.type, {
    apiVersion: "test.klutch.dev/v1",
    kind: "Widget",
    metadata,
    spec: {},
  });
  await provider.client.mergePatch(
    widgets.type,
    { namespace: "cluster-b-app", name: "one" },
    { status },
    { subresource: "status" },
  );
  const run = await asOperator("widget/one", ...above.slice(0, 2), "--tenant", "cluster-b");
  assert.equal(run.code, 2, run.stderr());
  assert.match(run.stdout(), /\nwaiting +written above +the control plane has no object for it/);
  assert.doesNotMatch(run.stdout(), /of another tenant/);
});

test("the kubeconfig of a tenant shows its own object, and no composite", async () => {
  const run = await asOperator(
    "widget/one",
    "--control-plane-kubeconfig",
    paths.tenant,
    "--tenant",
    "cluster-a",
  );
  assert.ok([1, 2].includes(run.code), run.stderr());
  assert.doesNotMatch(run.stdout(), /XWidget\/one-x7/);
});
