/** Alerts of the provider whose faults are rare, made to fire in a real Prometheus, and to clear. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { backups, type ServiceInstance, serviceInstances } from "@klutch/api";
import { validatingAdmissionPolicies, validatingAdmissionPolicyBindings } from "@klutch/kube-core";
import { applyPolicies, objectOfType, startAlertWatch, waitFor } from "@klutch/kube-testing";
import { backup, instance, startFixture } from "./testing/fixture.ts";
import { startProviderProcess } from "./testing/provider-process.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("rare-alerts"));
const { client, front } = fixture;
const folder = await mkdtemp(join(tmpdir(), "klutch-rare-alerts-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const provider = stack.use(await startProviderProcess(folder, fixture.kubeconfig));
const watch = stack.use(await startAlertWatch({ ports: { provider: [provider.port] } }));
await watch.settles();
const ready = { type: "Ready", status: "True" };
await client.create(serviceInstances, instance("kept"));
await fixture.condition(serviceInstances, "kept", ready);

test("KlutchInstanceLeftAtBroker: a managed resource loses its finalizers, and an import ends the alert", async () => {
  await client.create(serviceInstances, instance("lost"));
  await fixture.condition(serviceInstances, "lost", ready);
  const { status } = await client.get<ServiceInstance>(serviceInstances, { name: "lost" });
  const id = status?.atProvider?.instanceId ?? "";
  assert.notEqual(id, "");
  await watch.seesFault(
    "KlutchInstanceLeftAtBroker",
    async () => {
      // Stopped, so that it cannot take its finalizer back in between.
      process.kill(provider.process.pid, "SIGSTOP");
      await client.mergePatch(serviceInstances, { name: "lost" }, { metadata: { finalizers: null } });
      await client.delete(serviceInstances, { name: "lost" });
      process.kill(provider.process.pid, "SIGCONT");
    },
    async () => {
      const object = instance("found");
      const annotations = { "anynines.crossplane.io/instance-id": id };
      await client.create(serviceInstances, { ...object, metadata: { ...object.metadata, annotations } });
    },
  );
  await fixture.condition(serviceInstances, "found", ready);
  assert.ok((await fixture.databases()).length >= 2, "the database is still there");
});

test("KlutchBackupTooOld: the last backup is of three days ago, and a new one ends the alert", async () => {
  // A backup manager cannot be asked for old backups, so the front tells of one in its place.
  const at = new Date(Date.now() - 72 * 3600_000).toISOString();
  front.lie = ({ method, path }) => {
    const [, backupId] = /\/backups\/([^/]+)$/.exec(path) ?? [];
    if (method !== "GET" || backupId === undefined) return undefined;
    const old = { id: Number(backupId), status: "done", size: 1, triggered_at: at, finished_at: at };
    return { status: 200, body: JSON.stringify({ ...old, downloadable: true }) };
  };
  const labels = await watch.seesFault(
    "KlutchBackupTooOld",
    async () => {
      await client.create(backups, backup("old", "kept"));
      await fixture.condition(backups, "old", ready);
    },
    async () => {
      front.lie = undefined;
      await client.create(backups, backup("new", "kept"));
      await fixture.condition(backups, "new", ready);
    },
  );
  assert.equal(labels["severity"], "warning");
});

test("KlutchReconcilesFail: admission refuses what the provider writes, and allows it again", async () => {
  const names = Array.from({ length: 6 }, (_, index) => `refused-${index}`);
  const policy = { name: "refuses" };
  const rule = {
    apiGroups: [serviceInstances.group],
    apiVersions: ["*"],
    operations: ["UPDATE"],
    resources: [serviceInstances.plural, `${serviceInstances.plural}/status`],
  };
  const validation = { expression: "!object.metadata.name.startsWith('refused-')", message: "not now" };
  const spec = { matchConstraints: { resourceRules: [rule] }, validations: [validation] };
  const labels = await watch.seesFault(
    "KlutchReconcilesFail",
    async () => {
      await applyPolicies(client, [
        objectOfType(validatingAdmissionPolicies, policy, { spec }),
        objectOfType(validatingAdmissionPolicyBindings, policy, {
          spec: { policyName: policy.name, validationActions: ["Deny"] },
        }),
      ]);
      const noLabel = { metadata: { annotations: { tried: String(Date.now()) } } };
      await client.create(serviceInstances, instance("refused-try", { planName: "none" }));
      await waitFor("the policy to be in force", () =>
        client.mergePatch(serviceInstances, { name: "refused-try" }, noLabel).then(
          () => false,
          (error: unknown) => /not now/.test(String(error)),
        ),
      );
      for (const name of names) await client.create(serviceInstances, instance(name, { planName: "none" }));
    },
    () => client.delete(validatingAdmissionPolicyBindings, policy),
  );
  assert.match(labels["controller"] ?? "", /serviceinstance/i);
});
