/** doctor on real API servers; the konnector's part is played by hand (testing/bound-pair.ts). */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  apiServiceBindings,
  bindingRoleName,
  consumerNamespace,
  konnectorName,
  konnectorPolicyName,
  syncerFinalizer,
} from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  deployments,
  type DynamicObject,
  leases,
  microTime,
  namespaces,
  pods,
  type Role,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from "@klutch/kube-core";
import { namespaceObject, objectOfType, roleBindingObject, roleObject } from "@klutch/kube-testing";
import { startKlutchFixture } from "../testing/fixture.ts";

const fixture = await startKlutchFixture();
const { consumer, widgets } = fixture;
after(() => fixture[Symbol.asyncDispose]());

test("doctor: a cluster without a live konnector has problems, one with it and Ready bindings has none", async () => {
  const sick = await fixture.run(["doctor"]);
  assert.equal(sick.code, 1);
  assert.match(sick.stdout(), /problem +Deployment klutch-bind\/konnector: 0 of 2 replicas/);
  assert.match(sick.stdout(), /problem +Lease klutch-bind\/klutch-bind does not exist/);
  assert.match(
    sick.stdout(),
    /problem +widgets\.test\.klutch\.dev is not Ready\.\n +No konnector has reported/,
  );
  await fixture.makeHealthy();
  const healthy = await fixture.run(["doctor"]);
  assert.equal(healthy.code, 0, healthy.stdout());
  assert.match(healthy.stdout(), /ok +No surplus and no gap; 3 roles for 1 bound API\./);
  assert.match(healthy.stderr(), /No problems\.\n$/);
});

test("doctor: a lease of another name or place that a konnector renews is a problem; one of an AppClusterBinding or an old one is not", async () => {
  const renew = async (namespace: string, name: string, renewTime = microTime(Date.now())): Promise<void> => {
    if (namespace.startsWith("klutch-bind-"))
      await consumer.client.create(namespaces, namespaceObject(namespace));
    const spec = {
      holderIdentity: `go-${name}`,
      leaseDurationSeconds: 600,
      renewTime,
      acquireTime: renewTime,
    };
    await consumer.client.create<DynamicObject>(leases, objectOfType(leases, { namespace, name }, { spec }));
  };
  await renew("kube-system", consumerNamespace);
  await renew("kube-system", "kube-controller-manager");
  await renew(consumerNamespace, "old", "2026-01-01T00:00:00.000000Z");
  await renew("klutch-bind-default-edge", consumerNamespace);
  const run = await fixture.run(["doctor"]);
  assert.equal(run.code, 1);
  const found = [...run.stdout().matchAll(/problem +Lease (\S+) is held by (\S+), too: a second konnector/g)];
  assert.deepEqual(
    found.map(([, lease, holder]) => [lease, holder]),
    [["kube-system/klutch-bind", "go-klutch-bind"]],
  );
  await consumer.client.delete(leases, { namespace: "kube-system", name: consumerNamespace });
  assert.equal((await fixture.run(["doctor"])).code, 0);
});

test("doctor says when the control plane last took a heartbeat, and does not believe a binding that is Ready since long ago", async () => {
  const beat = async (agoMs: number): Promise<string> => {
    const lastHeartbeatTime = `${new Date(Date.now() - agoMs).toISOString().slice(0, 19)}Z`;
    const ref = { namespace: consumerNamespace, name: widgets.name };
    const status = { lastHeartbeatTime };
    await consumer.client.mergePatch(apiServiceBindings, ref, { status }, { subresource: "status" });
    const run = await fixture.run(["doctor"]);
    return `${run.code} ${run.stdout()}`;
  };
  assert.match(
    await beat(30_000),
    /^0 [^]*ok +widgets\.test\.klutch\.dev is Ready; last heartbeat 3\d s ago\./,
  );
  assert.match(
    await beat(12 * 60_000),
    /^1 [^]*problem +widgets\.test\.klutch\.dev was Ready; last heartbeat 12 min ago\. Nothing is known since then\.\n +No konnector has reached/,
  );
  assert.match(await beat(49 * 3_600_000), /last heartbeat 49 h ago/);
  await beat(-5_000);
});

/** Writes the conditions of a claim, as a control plane would. */
async function says(name: string, ...conditions: readonly (readonly [string, string, string, string])[]) {
  const status = {
    conditions: conditions.map(([type, value, reason, message]) => ({
      type,
      status: value,
      reason,
      message,
      lastTransitionTime: "2026-01-01T00:00:00Z",
    })),
  };
  const ref = { namespace: "app", name };
  await consumer.client.mergePatch(widgets.type, ref, { status }, { subresource: "status" });
}

test("doctor says how many claims are not ready and why, in Klutch's words first, also as JSON; exit code 1", async () => {
  const healthy = await fixture.run(["doctor"]);
  assert.match(healthy.stdout(), /\nClaims\n +ok +2 claims, none unready\.\n/);
  await says("one", ["Ready", "True", "Available", ""]);
  await says(
    "two",
    ["Ready", "False", "Waiting", "Claim is waiting"],
    ["klutch.anynines.com/Ready", "False", "NoBroker", "no broker makes widgets"],
  );
  const found = await fixture.run(["doctor"]);
  assert.equal(found.code, 1);
  assert.match(
    found.stdout(),
    /\n +note +1 of 2 claims is not ready\.\n +problem +widgets\.test\.klutch\.dev app\/two\n +NoBroker: no broker makes widgets\n/,
  );
  const json = await fixture.run(["doctor", "-o", "json"]);
  assert.equal(json.code, 1);
  const { problems, sections } = JSON.parse(json.stdout()) as {
    problems: number;
    sections: { title: string; findings: { level: string; text: string; advice?: string }[] }[];
  };
  assert.equal(problems, 1);
  assert.deepEqual(sections.find(({ title }) => title === "Claims")?.findings[1], {
    level: "problem",
    text: "widgets.test.klutch.dev app/two",
    advice: "NoBroker: no broker makes widgets",
  });
  await says("two", ["Ready", "True", "Available", ""]);
  assert.equal((await fixture.run(["doctor", "--output=json"])).code, 0);
});

test("doctor that cannot look ends with exit code 2, and names a format that does not exist", async () => {
  const away = await fixture.run(["doctor", "--server=https://127.0.0.1:1"]);
  assert.equal(away.code, 2);
  assert.match(away.stderr(), /^error: .*127\.0\.0\.1:1/m);
  const table = await fixture.run(["doctor", "-o", "table"]);
  assert.equal(table.code, 1);
  assert.match(table.stderr(), /Unknown output format -o "table": use json/);
});

test("a konnector that works as a process outside of Pods, as in the sandbox, is no problem; a Pod that is not ready is one", async () => {
  const { client } = consumer;
  const ref = { namespace: consumerNamespace, name: konnectorName };
  const none = { status: { replicas: 0, readyReplicas: 0, availableReplicas: 0 } };
  await client.mergePatch(deployments, ref, none, { subresource: "status" });
  const outside = await fixture.run(["doctor"]);
  assert.equal(outside.code, 0, outside.stdout());
  assert.match(
    outside.stdout(),
    /note +Deployment .*0 of 2 replicas.* konnector-0 does the work, which is no Pod/,
  );
  const pod = { namespace: consumerNamespace, name: "konnector-0" };
  const containers = [{ name: "konnector", image: "x.test/k:v1" }];
  const spec = { serviceAccountName: konnectorName, containers };
  await client.create<DynamicObject>(pods, { apiVersion: "v1", kind: "Pod", metadata: pod, spec });
  const inside = await fixture.run(["doctor"]);
  assert.equal(inside.code, 1);
  assert.match(inside.stdout(), /problem +Deployment .*0 of 2 replicas are available\.\n/);
  await client.delete(pods, pod);
  const full = { status: { replicas: 2, readyReplicas: 2, availableReplicas: 2 } };
  await client.mergePatch(deployments, ref, full, { subresource: "status" });
});

test("doctor names surplus, wildcards, gaps and left roles, and --fix repairs what Klutch writes", async () => {
  const { client } = consumer;
  const role = (name: string, rules: unknown): DynamicObject => roleObject({ name }, rules);
  const konnector = { namespace: consumerNamespace, name: konnectorName };
  const bindTo = (name: string, roleName: string): DynamicObject =>
    roleBindingObject({ name }, { kind: "ClusterRole", name: roleName }, konnector);
  const gone = bindingRoleName("gadgets.test.klutch.dev");
  await client.create(
    clusterRoles,
    role(gone, [{ apiGroups: ["test.klutch.dev"], resources: ["gadgets"], verbs: ["get"] }]),
  );
  await client.create(clusterRoleBindings, bindTo(gone, gone));
  await client.create(clusterRoleBindings, bindTo("too-much", "cluster-admin"));
  const own = bindingRoleName(widgets.name);
  const rules = [
    { apiGroups: ["test.klutch.dev"], resources: ["widgets"], verbs: ["get", "deletecollection"] },
    { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] },
  ];
  await client.mergePatch(clusterRoles, { name: own }, { rules });
  const found = await fixture.run(["doctor"]);
  assert.equal(found.code, 1);
  const text = found.stdout();
  assert.match(
    text,
    /surplus: ClusterRole klutch-bind-konnector:widgets\S+ gives deletecollection on widgets\.test\.klutch\.dev\n/,
  );
  assert.match(text, /surplus: ClusterRole klutch-bind-konnector:widgets\S+ gives get, list on configmaps\n/);
  assert.match(
    text,
    /wildcard: ClusterRole cluster-admin gives \* on \* of all API groups\n.*kubectl delete clusterrolebinding too-much\n/,
  );
  assert.match(text, /ClusterRole klutch-bind-konnector:gadgets\S+ is left over/);
  assert.match(text, /ClusterRole klutch-bind-konnector:widgets\S+ is not as Klutch writes it/);
  await client.delete(clusterRoleBindings, { name: "too-much" });
  const gap = await fixture.run(["doctor"]);
  assert.match(gap.stdout(), /missing: .*list, watch.* on secrets\n/);
  const asked = await fixture.run(["doctor", "--fix"]);
  assert.equal(asked.code, 1);
  assert.match(
    asked.stderr(),
    /lacks rights for bound APIs:\n[^]*list, watch[^\n]* on secrets\n[^]*Do you give it these rights\?[^]*Not given\./,
  );
  assert.deepEqual((await client.get<Role>(clusterRoles, { name: own })).rules, rules);
  await client.create(clusterRoles, role(gone, []));
  const fixed = await fixture.run(["doctor", "--fix"], { answers: ["yes"] });
  assert.equal(fixed.code, 0, fixed.stdout() + fixed.stderr());
  assert.match(fixed.stderr(), /Deleting ClusterRole and ClusterRoleBinding klutch-bind-konnector:gadgets/);
  assert.match(fixed.stdout(), /after the repair\n {2}ok +No surplus and no gap/);
  assert.equal(await client.find(clusterRoles, { name: gone }), undefined);
  assert.equal((await fixture.run(["doctor", "--fix"])).code, 0);
  await client.mergePatch(clusterRoles, { name: own }, { rules: [] });
  const unasked = await fixture.run(["doctor", "--fix", "--yes"]);
  assert.equal(unasked.code, 0, unasked.stdout() + unasked.stderr());
  assert.match(unasked.stderr(), /on secrets\n[^]*Given\.\n/);
});

test("doctor: a missing or altered admission policy is a problem, and --fix writes it for the bound APIs", async () => {
  const ref = { name: konnectorPolicyName };
  const { client } = fixture.consumer;
  await client.delete(validatingAdmissionPolicyBindings, ref);
  await client.mergePatch(validatingAdmissionPolicies, ref, { spec: { failurePolicy: "Ignore" } });
  const altered = await fixture.run(["doctor"]);
  assert.match(altered.stdout(), /ValidatingAdmissionPolicy klutch-konnector does not match.*bound/);
  await client.delete(validatingAdmissionPolicies, ref);
  const gone = await fixture.run(["doctor"]);
  assert.match(gone.stdout(), /ValidatingAdmissionPolicy klutch-konnector is missing/);
  assert.equal(gone.code, 1);
  const fixed = await fixture.run(["doctor", "--fix"]);
  assert.equal(fixed.code, 0, fixed.stdout() + fixed.stderr());
  const policy = await client.get<DynamicObject>(validatingAdmissionPolicies, ref);
  assert.match(JSON.stringify(policy.spec), new RegExp(`'${widgets.name}'`));
});

test("no check touched the app cluster's namespace of Klutch or the finalizer of a claim", async () => {
  const namespace = await consumer.client.get(namespaces, { name: consumerNamespace });
  assert.equal(namespace.metadata.deletionTimestamp, undefined);
  const { items } = await consumer.client.list(widgets.type, { namespace: "app" });
  assert.deepEqual(
    items.map(({ metadata }) => [metadata.name, metadata.finalizers]),
    [
      ["one", [syncerFinalizer]],
      ["two", [syncerFinalizer]],
    ],
  );
});
