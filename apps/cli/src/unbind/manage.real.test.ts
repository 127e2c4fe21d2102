/** release, unbind and hand-back on real API servers; the konnector's part is played by hand (testing/bound-pair.ts). */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { after, test } from "node:test";
import {
  apiLimit,
  apiServiceBindings,
  autoBindAnnotation,
  autoBindRole,
  binderName,
  bindingRoleName,
  consumerNamespace,
  providerUidAnnotation,
  releaseCreationsAnnotation,
  releaseDeletionsAnnotation,
  releaseSchemaAnnotation,
  syncerFinalizer,
  unbindFinalizer,
  unbindPolicyAnnotation,
} from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import {
  clusterRoleBindings,
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  namespaces,
  secrets,
} from "@klutch/kube-core";
import { objectOfType, roleBindingObject, roleObject, secretObject, waitFor } from "@klutch/kube-testing";
import { CliError } from "../errors.ts";
import { writeApiLimits } from "../app-cluster/api-limits.ts";
import { type ScriptedRun, scriptedRun } from "../testing/script.ts";
import { asConsumer, bindApi } from "../testing/bound-pair.ts";
import { startKlutchFixture } from "../testing/fixture.ts";

const fixture = await startKlutchFixture();
const { consumer, provider, widgets } = fixture;
after(() => fixture[Symbol.asyncDispose]());
await fixture.makeHealthy();

test("completion offers the bound APIs of the cluster that the line names, and nothing of one that does not answer", async () => {
  const complete = async (...words: readonly string[]): Promise<string> => {
    const run = await fixture.run(["__complete", ...words]);
    assert.deepEqual([run.code, run.stderr()], [0, ""]);
    return run.stdout();
  };
  assert.equal(await complete("unbind", "wid"), `${widgets.name}\n:4\n`);
  assert.equal(await complete("unbind", "--delete", ""), `${widgets.name}\n:4\n`);
  assert.equal(await complete("unbind", "--server", "https://127.0.0.1:1", ""), ":4\n");
});

test("release: nothing held; a held schema and held deletions are shown and released", async () => {
  const { name } = widgets;
  const none = await fixture.run(["release", name]);
  assert.equal(none.code, 0, none.stderr());
  assert.match(none.stderr(), /holds back nothing of widgets\.test\.klutch\.dev/);
  await fixture.setConditions(name, [
    { type: "Ready", status: "False", severity: "Error", reason: "BreakingSchemaChange", message: "x" },
    {
      type: "SchemaInSync",
      status: "False",
      severity: "Error",
      reason: "BreakingSchemaChange",
      message: "v1 spec.size: type changed; 2 objects would be refused (release with hash Ab3_x-9)",
    },
    { type: "DeletionHeld", status: "True", message: "12 objects wait" },
    { type: "CreationHeld", status: "True", message: "2 claims wait" },
  ]);
  const diagnosis = await fixture.run(["doctor"]);
  assert.match(diagnosis.stdout(), /When that is right: klutch release widgets/);
  const run = await fixture.run(["release", name]);
  assert.equal(run.code, 0, run.stderr());
  assert.match(
    run.stderr(),
    /v1 spec\.size: type changed.*\n.*holds back deletions of .*:\n {2}12 objects wait/,
  );
  const annotations = (await fixture.findBinding(name))?.metadata.annotations ?? {};
  assert.equal(annotations[releaseSchemaAnnotation], "Ab3_x-9");
  assert.match(run.stderr(), /creates no new objects for claims of .* that lost theirs:\n {2}2 claims wait/);
  for (const annotation of [releaseDeletionsAnnotation, releaseCreationsAnnotation])
    assert.match(annotations[annotation] ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

test("conditions that a provider worded neither steer the terminal nor pass for lines of ours", async () => {
  const hostile = "\u001b[2Jbad\u202e\n  ok       all is well";
  await fixture.setConditions(widgets.name, [
    { type: "Ready", status: "False", severity: "Error", reason: hostile, message: hostile },
    {
      type: "SchemaInSync",
      status: "False",
      severity: "Error",
      reason: "BreakingSchemaChange",
      message: hostile,
    },
    { type: "DeletionHeld", status: "True", message: hostile },
  ]);
  const runs = [await fixture.run(["doctor"]), await fixture.run(["release", widgets.name])];
  for (const run of runs) {
    assert.match(run.stdout() + run.stderr(), /bad\\u202e\\n/);
    assert.match(run.stdout() + run.stderr(), /^[\x20-\x7e\n]+$/);
    assert.doesNotMatch(run.stdout() + run.stderr(), /^\s+ok +all is well/m);
  }
});

test("release: a message without hash and an API that is not bound are said", async () => {
  await fixture.setConditions(widgets.name, [
    {
      type: "SchemaInSync",
      status: "False",
      severity: "Error",
      reason: "BreakingSchemaChange",
      message: "no hash",
    },
  ]);
  const broken = await fixture.run(["release", widgets.name]);
  assert.match(broken.stderr(), /must end with "\(release with hash <hash>\)"/);
  const other = await fixture.run(["release", "gadgets.test.klutch.dev"]);
  assert.match(other.stderr(), /no APIServiceBinding gadgets\S+ in the app cluster\. Bound are: widgets/);
  const name = await fixture.run(["release", "widgets"]);
  assert.match(name.stderr(), /widgets is not the name of an API; write <resource>\.<group>/);
  assert.deepEqual([broken.code, other.code, name.code], [1, 1, 1]);
});

/** Plays the konnector: says what it does, and lets the binding go when the command has shown it. */
async function finishUnbinding(name: string, run: ScriptedRun): Promise<void> {
  await waitFor(
    "the deletion",
    async () => (await fixture.findBinding(name))?.metadata.deletionTimestamp !== undefined,
  );
  const message = "2 of 2 claims are released";
  await fixture.setConditions(name, [{ type: "Unbinding", status: "True", message }]);
  await waitFor("the command to show it", () => run.stderr().includes(message));
  await fixture.patchBinding(name, { metadata: { finalizers: null } });
}

test("unbind keeps what exists, shows the konnector's words, and takes its rights away", async () => {
  const gizmos = await bindApi(consumer, provider, "cluster-a", "gizmos");
  const started = fixture.start(["unbind", gizmos.name]);
  await finishUnbinding(gizmos.name, started);
  const run = await started.done;
  assert.equal(run.code, 0, run.stderr());
  assert.match(run.stderr(), /keeps everything that exists:\n {2}- 0 objects in this cluster stay/);
  assert.match(run.stderr(), /\n {2}2 of 2 claims are released\n/);
  assert.match(run.stderr(), /the konnector has no rights on gizmos\.test\.klutch\.dev any more/);
  const role = { name: bindingRoleName(gizmos.name) };
  assert.equal(await consumer.client.find(clusterRoles, role), undefined);
  assert.equal(await consumer.client.find(clusterRoleBindings, role), undefined);
  const again = await fixture.run(["unbind", gizmos.name]);
  assert.equal(again.code, 1);
  assert.match(again.stderr(), /There is no APIServiceBinding gizmos/);
  const doctor = await fixture.run(["doctor"]);
  assert.match(doctor.stdout(), /note +gizmos\.test\.klutch\.dev: its APIServiceBinding is gone\. 0 objects/);
});

test("unbind says of an API that the konnector binds by itself that it comes back, and of no other", async () => {
  const { name: cogs } = await bindApi(consumer, provider, "cluster-a", "cogs");
  const { name: springs } = await bindApi(consumer, provider, "cluster-a", "springs");
  const scope = { groups: ["test.klutch.dev"], except: [springs] };
  const role = roleObject({ name: autoBindRole }, []);
  const metadata = { ...role.metadata, annotations: { [autoBindAnnotation]: JSON.stringify(scope) } };
  await consumer.client.create<DynamicObject>(clusterRoles, { ...role, metadata });
  const comesBack =
    /Note: the konnector binds cogs\.test\.klutch\.dev again, because autoBind\.groups .* Add cogs\.test\.klutch\.dev to autoBind\.except/;
  assert.match((await fixture.run(["unbind", cogs, "--dry-run"])).stderr(), comesBack);
  assert.doesNotMatch((await fixture.run(["unbind", springs, "--dry-run"])).stderr(), /binds .* again/);
  await consumer.client.delete(clusterRoles, { name: autoBindRole });
  assert.doesNotMatch((await fixture.run(["unbind", cogs, "--dry-run"])).stderr(), /binds .* again/);
});

test("unbind --delete counts the objects to delete and wants the name typed; anything else changes nothing", async () => {
  const { name } = widgets;
  for (const answers of [[], ["yes"], ["gizmos.test.klutch.dev"]]) {
    const run = await fixture.run(["unbind", name, "--delete"], { answers });
    assert.equal(run.code, 1);
    assert.match(run.stderr(), /DELETES:\n {2}- 2 objects in this cluster/);
    assert.match(run.stderr(), /NAMESPACE +OBJECTS\n +app +2\n/);
    assert.match(run.stderr(), /othing was changed/);
  }
  const dry = await fixture.run(["unbind", name, "--delete", "--yes", "--dry-run"], {}, "kubectl-bind");
  assert.equal(dry.code, 0, dry.stderr());
  assert.match(dry.stderr(), /DELETES:[^]*Dry run: nothing was changed/);
  const binding = await fixture.findBinding(name);
  assert.equal(binding?.metadata.deletionTimestamp, undefined);
  assert.equal(binding?.metadata.annotations?.[unbindPolicyAnnotation], undefined);
});

test("kubectl bind unbind --delete: the policy is set, a time-out and Ctrl-C say how to go on, running it again ends it", async () => {
  const { name } = widgets;
  const late = await fixture.run(
    ["unbind", name, "--delete", "--timeout=1s"],
    { answers: [name] },
    "kubectl-bind",
  );
  assert.equal(late.code, 1);
  assert.match(late.stderr(), /Waited 1 s for .* to be unbound: .*Run the command again/);
  const binding = await fixture.findBinding(name);
  assert.notEqual(binding?.metadata.deletionTimestamp, undefined);
  assert.equal(binding?.metadata.annotations?.[unbindPolicyAnnotation], "Delete");
  const interrupted = new AbortController();
  const watching = fixture.start(["unbind", name], { signal: interrupted.signal });
  await waitFor("the command to wait", () => watching.stderr().includes("Waiting for"));
  interrupted.abort(new CliError("Cancelled", "Interrupted."));
  const stopped = await watching.done;
  assert.equal(stopped.code, 1);
  assert.match(
    stopped.stderr(),
    /already being unbound \(Delete\)[^]*Unbinding continues in the cluster.*\nerror: Interrupted\.\n$/,
  );
  const doctor = await fixture.run(["doctor"]);
  assert.match(doctor.stdout(), /note +widgets\.test\.klutch\.dev is being unbound/);
  const ending = fixture.start(["unbind", name]);
  await finishUnbinding(name, ending);
  const run = await ending.done;
  assert.equal(run.code, 0, run.stderr());
  assert.equal(await consumer.client.find(clusterRoles, { name: bindingRoleName(name) }), undefined);
});

test("doctor and verify find claims that wait for a binding which is gone; doctor's command resolves them", async () => {
  const ref = { namespace: "app", name: "one" };
  await consumer.client.delete(widgets.type, ref);
  const run = await fixture.run(["doctor"]);
  assert.equal(run.code, 1);
  assert.match(
    run.stdout(),
    /problem +widgets\.test\.klutch\.dev app\/one is being deleted since \S+ and waits, because no APIServiceBinding serves it/,
  );
  const patch = /kubectl patch widgets\.test\.klutch\.dev one --namespace app --type=json -p '(.*)'/.exec(
    run.stdout(),
  )?.[1];
  const checked = await fixture.verify();
  assert.match(
    checked.stdout(),
    /Finalizer +app cluster +widgets\.test\.klutch\.dev app\/one +has our finalizer, but no APIServiceBinding/,
  );
  const operations: unknown = JSON.parse(patch ?? "");
  assert.ok(Array.isArray(operations));
  await consumer.client.jsonPatch(widgets.type, ref, operations);
  assert.equal(await consumer.client.find(widgets.type, ref), undefined);
});

test("unbind --delete refuses when no konnector that can unbind serves the binding", async () => {
  const gadgets = await bindApi(consumer, provider, "cluster-a", "gadgets");
  await fixture.patchBinding(gadgets.name, { metadata: { finalizers: null } });
  const refused = await fixture.run(["unbind", gadgets.name, "--delete", "--yes"]);
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr(),
    /has no finalizer klutch\.anynines\.com\/unbind.*nothing would be deleted at the provider/,
  );
  const kept = await fixture.run(["unbind", gadgets.name]);
  assert.equal(kept.code, 0, kept.stderr());
  assert.match(kept.stderr(), /Note: .* has no finalizer/);
  assert.equal(await fixture.findBinding(gadgets.name), undefined);
});

test("hand-back takes our marks, so that an agent which does not know them can let a deleted binding go", async () => {
  const levers = await bindApi(consumer, provider, "cluster-a", "levers");
  const knobs = await bindApi(consumer, provider, "cluster-a", "knobs");
  const marks = {
    [providerUidAnnotation]: "namespace=a",
    [unbindPolicyAnnotation]: "Orphan",
    "own.test/note": "stays",
  };
  for (const { name } of [levers, knobs])
    await fixture.patchBinding(name, { metadata: { annotations: marks } });
  const ref = { namespace: consumerNamespace, name: levers.name };
  await consumer.client.delete(apiServiceBindings, ref);
  assert.notEqual(await fixture.findBinding(levers.name), undefined, "our finalizer keeps it");
  const dry = await fixture.run(["hand-back", "--dry-run"]);
  assert.equal(dry.code, 0, dry.stderr());
  assert.match(dry.stderr(), /Would take .*knobs.*: finalizer klutch\.anynines\.com\/unbind, .*provider-uid/);
  assert.notEqual(await fixture.findBinding(levers.name), undefined);
  const wrong = await fixture.run(["hand-back", "nobody.test.klutch.dev"]);
  assert.match(wrong.stderr(), /no APIServiceBinding nobody/);
  const one = await fixture.run(["hand-back", levers.name]);
  assert.equal(one.code, 0, one.stderr());
  assert.equal(await fixture.findBinding(levers.name), undefined, "the deletion goes through");
  assert.deepEqual((await fixture.findBinding(knobs.name))?.metadata.finalizers, [unbindFinalizer]);
  await writeApiLimits(scriptedRun().context, asConsumer(consumer.client), [knobs.name]);
  const rest = await fixture.run(["hand-back"]);
  assert.equal(rest.code, 0, rest.stderr());
  assert.ok(rest.stderr().includes(`Deleted ValidatingAdmissionPolicy ${apiLimit.nameOf(knobs.name)}.`));
  const { finalizers, annotations } = (await fixture.findBinding(knobs.name))?.metadata ?? {};
  assert.deepEqual([finalizers, annotations], [undefined, { "own.test/note": "stays" }]);
  assert.match((await fixture.run(["hand-back"])).stderr(), /Nothing to do/);
});

test("hand-back gives the CRD of an earlier binding to the present one, as a konnector in Go wants it, and no other CRD", async () => {
  const cranks = await bindApi(consumer, provider, "cluster-a", "cranks");
  const ownersOf = async (name: string): Promise<unknown> =>
    (await consumer.client.get(customResourceDefinitions, { name })).metadata.ownerReferences;
  const marks = { finalizers: null, annotations: null };
  // Bound again: the same name, and another UID.
  const { spec } = (await fixture.findBinding(cranks.name)) ?? {};
  await fixture.patchBinding(cranks.name, { metadata: marks });
  const ref = { namespace: consumerNamespace, name: cranks.name };
  await consumer.client.delete(apiServiceBindings, ref);
  const before = await ownersOf(cranks.name);
  const others = await ownersOf(widgets.name);
  const again = await consumer.client.create<KubeObject>(
    apiServiceBindings,
    objectOfType(apiServiceBindings, ref, { spec }),
  );
  const dry = await fixture.run(["hand-back", cranks.name, "--dry-run"]);
  assert.match(
    dry.stderr(),
    /Would give CustomResourceDefinition cranks\S+ of an earlier binding to the present/,
  );
  assert.deepEqual(await ownersOf(cranks.name), before);
  const run = await fixture.run(["hand-back", cranks.name]);
  assert.equal(run.code, 0, run.stderr());
  const { uid, name } = again.metadata;
  assert.partialDeepStrictEqual(await ownersOf(cranks.name), [
    { apiVersion: "klutch.anynines.com/v1alpha1", kind: "APIServiceBinding", name, uid },
  ]);
  assert.deepEqual(await ownersOf(widgets.name), others);
  assert.match((await fixture.run(["hand-back", cranks.name])).stderr(), /Nothing to do/);
});

test("hand-back notices a konnector of ours that puts its finalizer back, and says how to stop it", async () => {
  const dials = await bindApi(consumer, provider, "cluster-a", "dials");
  const started = fixture.start(["hand-back", dials.name]);
  await waitFor(
    "the finalizer to be taken",
    async () => (await fixture.findBinding(dials.name))?.metadata.finalizers === undefined,
  );
  await fixture.patchBinding(dials.name, { metadata: { finalizers: [unbindFinalizer] } });
  const run = await started.done;
  assert.equal(run.code, 1);
  assert.match(
    run.stderr(),
    /put its finalizer back on dials\S+\. Stop it.*scale deployment konnector --replicas=0/,
  );
});

test("hand-back refuses cluster-scoped claims for which a konnector in Go makes second objects, and says which", async (t) => {
  const pulleys = await bindApi(consumer, provider, "cluster-a", "pulleys", false);
  const make = (client: KubeClient, name: string): Promise<KubeObject> =>
    client.create(pulleys.type, objectOfType(pulleys.type, { name }));
  for (const name of ["prefixed", "plain", "unseen"]) await make(consumer.client, name);
  for (const name of ["cluster-a-prefixed", "plain"]) await make(provider.client, name);
  const unread = await fixture.run(["hand-back", pulleys.name]);
  assert.match(
    unread.stderr(),
    /pulleys\S+ the names of 3 objects in the control plane cannot be read: .*kubeconfig-x/,
  );
  const rules = [{ apiGroups: [pulleys.type.group], resources: ["pulleys"], verbs: ["list"] }];
  const subject = { namespace: "cluster-a", name: binderName };
  await provider.client.create(clusterRoles, roleObject({ name: "pulleys" }, rules));
  const role = { kind: "ClusterRole", name: "pulleys" } as const;
  await provider.client.create(clusterRoleBindings, roleBindingObject({ name: "pulleys" }, role, subject));
  const kubeconfig = await readFile(fixture.paths.tenant, "utf8");
  await consumer.client.create(secrets, secretObject(consumerNamespace, "kubeconfig-x", { kubeconfig }));
  const silent = createServer((socket) => void socket.resume()).listen(0, "127.0.0.1");
  t.after(() => void silent.close());
  await once(silent, "listening");
  const address = silent.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const nowhere = kubeconfig.replace(/server: .*/, `server: https://127.0.0.1:${port}`);
  const ref = { namespace: consumerNamespace, name: "kubeconfig-x" };
  const encoded = (text: string): string => Buffer.from(text).toString("base64");
  await consumer.client.mergePatch(secrets, ref, { data: { kubeconfig: encoded(nowhere) } });
  const started = performance.now();
  const late = await fixture.run(["hand-back", pulleys.name, "--request-timeout=1s"]);
  assert.match(late.stderr(), /cannot be read: The control plane at https:\S+ does not answer \(no answer/);
  assert.ok(performance.now() - started < 9_000, "a connection may take ten seconds by default");
  await consumer.client.mergePatch(secrets, ref, { data: { kubeconfig: encoded(kubeconfig) } });
  const refused = await fixture.run(["hand-back"]);
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr(),
    /second, empty object .*pulleys\S+ 1 object with the name of the claim: plain\. Nothing/,
  );
  assert.deepEqual((await fixture.findBinding(pulleys.name))?.metadata.finalizers, [unbindFinalizer]);
  const accepted = await fixture.run(["hand-back", pulleys.name, "--accept-copies"]);
  assert.equal(accepted.code, 0, accepted.stderr());
  assert.equal((await fixture.findBinding(pulleys.name))?.metadata.finalizers, undefined);
});

test("the app cluster's namespace of Klutch and its finalizers were touched by no check", async () => {
  const namespace = await consumer.client.get(namespaces, { name: consumerNamespace });
  assert.equal(namespace.metadata.deletionTimestamp, undefined);
  const { items } = await consumer.client.list(widgets.type, { namespace: "app" });
  assert.deepEqual(
    items.map(({ metadata }) => [metadata.name, metadata.finalizers]),
    [["two", [syncerFinalizer]]],
  );
});
