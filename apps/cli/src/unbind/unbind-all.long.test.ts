/** unbind --all, hand-back and doctor on real API servers that delete namespaces; the konnector's part is played by hand. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import {
  apiServiceBindings,
  bindingRoleName,
  consumerNamespace,
  konnectorName,
  konnectorPolicyName,
  syncerFinalizer,
  userRoleName,
} from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  customResourceDefinitions,
  deployments,
  leases,
  namespaces,
  serviceAccounts,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from "@klutch/kube-core";
import { formatYaml } from "@klutch/kube";
import { waitFor } from "@klutch/kube-testing";
import { writeApiLimits } from "../app-cluster/api-limits.ts";
import { confineKonnector } from "../app-cluster/confinement.ts";
import { asConsumer, bindApi, type BoundPair, syncedClaim } from "../testing/bound-pair.ts";
import { startBackend } from "../testing/backend.ts";
import { requestFor } from "../testing/provider-side.ts";
import { installByHand, reportReplicas, startKlutchFixture } from "../testing/fixture.ts";
import { type ScriptedRun, scriptedRun } from "../testing/script.ts";

const fixture = await startKlutchFixture({ deletesNamespaces: true });
after(() => fixture[Symbol.asyncDispose]());
const { consumer, provider, widgets } = fixture;
const { client } = consumer;
const base = { name: "klutch-bind-konnector" };
const home = { name: consumerNamespace };
const konnector = { namespace: consumerNamespace, name: konnectorName };
const isReady = [{ type: "Ready", status: "True" }] as const;
/** Uses widgets by its field `widgetRef`, and comes before them although its name comes after theirs. */
const zippers = await bindApi(consumer, provider, "cluster-a", "zippers");

async function isGone(name: string): Promise<boolean> {
  return (await fixture.findBinding(name)) === undefined;
}

/** Plays the konnector for one API: releases claims and the binding as soon as the binding is being deleted. */
async function release({ name, type }: BoundPair): Promise<void> {
  await waitFor(`the deletion of ${name}`, async () => {
    const { deletionTimestamp } = (await fixture.findBinding(name))?.metadata ?? {};
    return deletionTimestamp !== undefined;
  });
  for (const { metadata } of (await client.list(type)).items) {
    const ref = { namespace: metadata.namespace, name: metadata.name ?? "" };
    await client.mergePatch(type, ref, { metadata: { finalizers: null } });
  }
  await fixture.patchBinding(name, { metadata: { finalizers: null } });
}

/** Lines of a run, without the list of what it will do. */
function said(run: ScriptedRun): string {
  return `${run.stdout()}${run.stderr()}`;
}

/** Asserts that nothing was begun. */
async function assertUntouched(): Promise<void> {
  for (const { name } of [widgets, zippers]) {
    const { deletionTimestamp } = (await fixture.findBinding(name))?.metadata ?? {};
    assert.equal(deletionTimestamp, undefined);
  }
  assert.ok(await client.find(deployments, konnector));
  assert.equal((await client.get(namespaces, home)).metadata.deletionTimestamp, undefined);
}

test("one API or --all: neither, both, and --keep-konnector for one API are refused", async () => {
  for (const args of [[], ["--all", widgets.name], [widgets.name, "--keep-konnector"]]) {
    const run = await fixture.run(["unbind", ...args]);
    assert.equal(run.code, 1);
    assert.match(run.stderr(), /Name one API, or pass --all|--keep-konnector needs --all/);
  }
  await assertUntouched();
});

test("unbind --all begins nothing without a konnector that works, and names hand-back", async () => {
  const run = await fixture.run(["unbind", "--all", "--yes"]);
  assert.equal(run.code, 1);
  assert.match(
    run.stderr(),
    /No konnector works that could unbind widgets\S+, zippers\S+\. klutch doctor says why\.[^]*klutch hand-back[^]*Nothing was changed/,
  );
  await assertUntouched();
});

test("unbind --all names every obstacle at once and begins nothing: held deletions, no connection, a used claim, claims in klutch-bind", async () => {
  await reportReplicas(client);
  await fixture.setConditions(widgets.name, [
    { type: "Ready", status: "False", severity: "Error", reason: "MassDeletion", message: "x" },
    { type: "DeletionHeld", status: "True", reason: "MassDeletion", message: "6 of 6 claims" },
  ]);
  const why = "the control plane does not answer";
  await fixture.setConditions(zippers.name, [
    { type: "Connected", status: "False", severity: "Error", reason: "Unreachable", message: why },
  ]);
  await syncedClaim(consumer, provider, zippers, "user");
  const ref = { namespace: "app", name: "user" };
  await client.mergePatch(zippers.type, ref, { spec: { widgetRef: "one" } });
  await client.delete(widgets.type, { namespace: "app", name: "one" });
  const { group, version, kind } = widgets.type;
  const metadata = { namespace: consumerNamespace, name: "inside" };
  await client.create(widgets.type, { apiVersion: `${group}/${version}`, kind, metadata });
  const run = await fixture.run(["unbind", "--all", "--yes"]);
  assert.equal(run.code, 1);
  for (const line of [
    /deletions of widgets\S+ \(6 of 6 claims\)\. .*klutch release widgets\.test.*klutch unbind widgets/,
    /control plane of zippers\S+: Unreachable: the control plane does not answer/,
    /widgets\S+ app\/one is being deleted and cannot go, because zippers\S+ app\/user still uses it/,
    /klutch-bind holds 1 claim, which would go with it: widgets\S+ inside/,
    /error: 4 obstacles to remove first; see above\. Nothing was changed/,
  ])
    assert.match(run.stderr(), line);
  await assertUntouched();
  await client.delete(widgets.type, metadata);
  for (const { name } of [widgets, zippers]) await fixture.setConditions(name, isReady);
  await client.mergePatch(zippers.type, ref, { spec: { widgetRef: null } });
});

test("unbind of one API says which claims cannot be deleted, from the side of the user and of the used", async () => {
  const user = { namespace: "app", name: "user" };
  await client.mergePatch(zippers.type, user, { spec: { widgetRef: "one" } });
  const used =
    /Note: widgets\S+ app\/one (?:is being|would be) deleted and cannot go, because zippers\S+ app\/user still uses it\. Delete that claim while its API is bound\./;
  for (const args of [[widgets.name], [zippers.name], [widgets.name, "--delete"]]) {
    const run = await fixture.run(["unbind", ...args, "--dry-run"]);
    assert.equal(run.code, 0, said(run));
    assert.match(run.stderr(), used);
  }
  const both = await fixture.run(["unbind", zippers.name, "--delete", "--dry-run"]);
  assert.doesNotMatch(both.stderr(), /Note:/, "the user is deleted, too");
  await client.mergePatch(zippers.type, user, { spec: { widgetRef: null } });
});

test("unbind --all shows what it will do, with the app cluster, and without a yes changes nothing", async () => {
  for (const answers of [[], ["no"]]) {
    const run = await fixture.run(["unbind", "--all"], { answers });
    assert.equal(run.code, 1);
    assert.match(
      run.stderr(),
      /Removing 2 bound APIs and the konnector from this cluster \(context \S+, https:\S+\):/,
    );
    assert.match(run.stderr(), / 1\. +widgets\S+ +2 +1\n +2\. +zippers\S+ +1 +0\n/);
    assert.match(run.stderr(), /binding again does not take up these databases[^]*Nothing was changed/);
  }
  const erase = await fixture.run(["unbind", "--all", "--delete"], { answers: ["yes"] });
  assert.match(erase.stderr(), /DELETES these claims[^]*"yes" is not delete/);
  await assertUntouched();
});

test("unbind --all stops at the first failure, names the APIs that are left, and keeps the konnector; the next run goes on and removes everything", async () => {
  const limited = [widgets.name, zippers.name, "left.example.org"];
  await writeApiLimits(scriptedRun().context, asConsumer(client), limited);
  const stopped = await fixture.run(["unbind", "--all", "--yes", "--timeout=1s"]);
  assert.equal(stopped.code, 1);
  assert.match(
    stopped.stderr(),
    /Being deleted and not gone: widgets\S+ app\/one\.[^]*Stopped at widgets\S+\. Still bound: widgets\S+, zippers\S+\. The konnector and its rights are untouched[^]*klutch unbind --all goes on here\.\n$/,
  );
  assert.equal((await fixture.findBinding(zippers.name))?.metadata.deletionTimestamp, undefined);
  assert.ok(await client.find(deployments, konnector));
  assert.ok(await client.find(clusterRoles, base));
  const started = fixture.start(["unbind", "--all"], { answers: ["yes"] });
  await release(widgets);
  await waitFor("the next API", () =>
    started.stderr().includes("Deleted APIServiceBinding klutch-bind/zippers"),
  );
  assert.ok(await client.find(deployments, konnector), "the konnector goes last");
  await release(zippers);
  const run = await started.done;
  assert.equal(run.code, 0, said(run));
  assert.match(run.stderr(), /kubectl delete crd widgets\.test\.klutch\.dev zippers\.test\.klutch\.dev/);
  assert.doesNotMatch(run.stderr(), /still ha/);
  await assertNothingLeft();
  const { items } = await client.list(widgets.type, { namespace: "app" });
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ["two"],
  );
  const again = await fixture.run(["unbind", "--all", "--yes"]);
  assert.equal(again.code, 0);
  assert.match(again.stderr(), /No API is bound in this cluster .*nothing of Klutch is left to remove/);
});

async function assertNothingLeft(): Promise<void> {
  assert.equal(await client.find(namespaces, home), undefined);
  for (const type of [
    validatingAdmissionPolicies,
    validatingAdmissionPolicyBindings,
    clusterRoles,
    clusterRoleBindings,
  ]) {
    const names = (await client.list(type)).items.map(({ metadata }) => metadata.name ?? "");
    assert.deepEqual(
      names.filter((name) => name.startsWith("klutch-")),
      [],
    );
  }
}

/** Binds again what the last test removed, with a claim in sync, and a konnector that works. */
async function bindAnew(plural: string): Promise<BoundPair> {
  await installByHand(client);
  const pair = await bindApi(consumer, provider, "cluster-a", plural);
  await syncedClaim(consumer, provider, pair, plural);
  await fixture.setConditions(pair.name, isReady);
  await confineKonnector(scriptedRun().context, asConsumer(client));
  await reportReplicas(client);
  return pair;
}

/** The namespace controller took the konnector, its account and its lease; bindings with a finalizer are left. */
async function untilEmptied(): Promise<void> {
  await waitFor("the konnector to be gone", async () => {
    const left = [client.find(deployments, konnector), client.find(serviceAccounts, konnector)];
    const lease = client.find(leases, { namespace: consumerNamespace, name: consumerNamespace });
    return (await Promise.all([...left, lease])).every((one) => one === undefined);
  });
}

test("half-way: klutch-bind is being deleted and its konnector is gone. doctor and unbind --all name hand-back, which works", async () => {
  const pair = await bindAnew("gizmos");
  await client.delete(pair.type, { namespace: "app", name: "gizmos" });
  await client.delete(namespaces, home);
  await untilEmptied();
  const found = await fixture.run(["doctor"]);
  assert.equal(found.code, 1);
  assert.match(
    found.stdout(),
    /problem +Namespace klutch-bind is being deleted since \S+ and waits for 1 APIServiceBinding: gizmos\S+\.\n +No konnector works.* klutch hand-back/,
  );
  assert.doesNotMatch(found.stdout(), /Bind an API with kubectl bind|doctor --fix/);
  const refused = await fixture.run(["unbind", "--all", "--yes"]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr(), /klutch-bind is being deleted, and no konnector works[^]*klutch hand-back/);
  await using backend = await startBackend(await readFile(fixture.paths.tenant, "utf8"), [
    requestFor("widgets"),
  ]);
  const manifest = formatYaml(requestFor("widgets"));
  for (const args of [
    [backend.url],
    [backend.url, "--dry-run"],
    ["apiservice", "--remote-kubeconfig", fixture.paths.tenant, "-f", "-"],
  ]) {
    const bind = await fixture.run(args, { stdin: manifest }, "kubectl-bind");
    assert.equal(bind.code, 1);
    assert.match(
      bind.stderr(),
      /error: No API can be bound .*klutch-bind is being deleted since \S+\. It waits for gizmos\S+, .* klutch hand-back .* Then klutch unbind --all removes/,
    );
  }
  assert.deepEqual(backend.clusterIds, [], "no login");
  const letGo = await fixture.run(["hand-back"]);
  assert.equal(letGo.code, 0, said(letGo));
  await waitFor("the namespace", async () => (await client.find(namespaces, home)) === undefined);
  const rights = await fixture.run(["doctor"]);
  assert.match(
    rights.stdout(),
    /problem +Roles and policy of a konnector that is not installed are left over: .*klutch-bind-konnector.*\n +klutch unbind --all/,
  );
  assert.doesNotMatch(rights.stdout(), /doctor --fix/);
  const run = await fixture.run(["unbind", "--all", "--yes"]);
  assert.equal(run.code, 0, said(run));
  assert.match(run.stderr(), /1 claim still has the finalizer klutch\.anynines\.com\/syncer.*klutch doctor/);
  await assertNothingLeft();
  const last = await fixture.run(["doctor"]);
  assert.match(
    last.stdout(),
    /problem +gizmos\S+ app\/gizmos is being deleted .*no APIServiceBinding serves it/,
  );
  const patch = / --type=json -p '(.*)'/.exec(last.stdout())?.[1];
  const ref = { namespace: "app", name: "gizmos" };
  await client.jsonPatch(pair.type, ref, JSON.parse(patch ?? "") as object[]);
  assert.equal(await client.find(pair.type, ref), undefined);
});

test("half-way: as before, and all roles and the policy are gone, too. hand-back still lets the bindings go", async () => {
  const pair = await bindAnew("levers");
  await client.delete(namespaces, home);
  await untilEmptied();
  for (const type of [clusterRoles, clusterRoleBindings]) await client.delete(type, base);
  await client.delete(validatingAdmissionPolicies, { name: konnectorPolicyName });
  const found = await fixture.run(["doctor"]);
  assert.match(found.stdout(), /klutch-bind is being deleted since[^]*klutch hand-back/);
  assert.doesNotMatch(found.stdout(), /Bind an API with kubectl bind|doctor --fix/);
  assert.equal((await fixture.run(["hand-back"])).code, 0);
  await waitFor("the namespace", async () => (await client.find(namespaces, home)) === undefined);
  const run = await fixture.run(["unbind", "--all", "--yes"]);
  assert.equal(run.code, 0, said(run));
  await assertNothingLeft();
  assert.equal(await client.find(clusterRoles, { name: userRoleName(pair.name, "edit") }), undefined);
});

test("half-way: the Deployment was deleted, and bindings wait for a konnector. doctor names both ways on", async () => {
  const pair = await bindAnew("knobs");
  await client.delete(deployments, konnector);
  await client.delete(leases, { namespace: consumerNamespace, name: consumerNamespace });
  const found = await fixture.run(["doctor"]);
  assert.match(
    found.stdout(),
    /problem +Deployment klutch-bind\/konnector does not exist, and knobs\S+ needs it\.\n.*kubectl bind.*\n.*klutch hand-back.*klutch unbind --all/,
  );
  await client.delete(apiServiceBindings, { namespace: consumerNamespace, name: pair.name });
  const waiting = await fixture.run(["doctor"]);
  assert.match(
    waiting.stdout(),
    /problem +knobs\S+ is being unbound, and no konnector works.*\n.*klutch hand-back knobs/,
  );
  assert.equal((await fixture.run(["hand-back", pair.name])).code, 0);
  assert.ok(await isGone(pair.name));
  const run = await fixture.run(["unbind", "--all", "--yes"]);
  assert.equal(run.code, 0, said(run));
  await assertNothingLeft();
});

test("half-way: roles without their account are named, with what writes it or removes them", async () => {
  const pair = await bindAnew("dials");
  await client.delete(serviceAccounts, konnector);
  const bound = await fixture.run(["doctor"]);
  assert.match(
    bound.stdout(),
    /problem +ServiceAccount klutch-bind\/konnector does not exist, but roles are bound to it\.\n.*kubectl bind/,
  );
  const stay = fixture.start(["unbind", "--all", "--yes", "--keep-konnector"]);
  await release(pair);
  const kept = await stay.done;
  assert.equal(kept.code, 0, said(kept));
  assert.ok(await client.find(deployments, konnector));
  assert.ok(await client.find(namespaces, home));
  await client.delete(deployments, konnector);
  const unbound = await fixture.run(["doctor"]);
  assert.match(
    unbound.stdout(),
    /ServiceAccount klutch-bind\/konnector does not exist[^]*klutch unbind --all/,
  );
  assert.equal((await fixture.run(["unbind", "--all", "--yes"])).code, 0);
  await assertNothingLeft();
  await confineKonnector(scriptedRun().context, asConsumer(client));
  const policy = await fixture.run(["doctor"]);
  assert.match(
    policy.stdout(),
    /Roles and policy .* are left over: klutch-konnector\.\n.*klutch unbind --all/,
  );
  assert.equal((await fixture.run(["unbind", "--all", "--yes"])).code, 0);
  await assertNothingLeft();
});

test("after all of this the claims and their definitions are there", async () => {
  for (const plural of ["widgets", "levers", "knobs", "dials"]) {
    const name = `${plural}.test.klutch.dev`;
    assert.ok(await client.find(customResourceDefinitions, { name }));
    assert.equal(await client.find(clusterRoles, { name: bindingRoleName(name) }), undefined);
  }
  const { items } = await client.list({ ...widgets.type, plural: "dials", kind: "Dial" });
  assert.deepEqual(
    items.map(({ metadata }) => metadata.finalizers),
    [undefined],
  );
  assert.equal(syncerFinalizer, "klutch.anynines.com/syncer");
});
