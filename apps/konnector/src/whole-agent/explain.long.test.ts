/** `klutch explain` beside a running konnector between real API servers: the faults are made, and the command says which one it is. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { clusterBindingName, clusterBindings } from "@klutch/api";
import { recordsAt, resourceQuotas } from "@klutch/kube-core";
import { objectOfType, TcpProxy, waitFor } from "@klutch/kube-testing";
import { endTokens, providerSecret, putKubeconfig } from "../testing/credentials.ts";
import { databaseApi, readyStatus } from "../testing/database-api.ts";
import { bindApi, type RunningKonnector, startKonnector, widget } from "../testing/fixture.ts";
import { klutchProcess } from "../testing/klutch-process.ts";
import { serviceNamespace } from "../testing/pair.ts";
import { tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const databases = databaseApi("databases", "Database");
const { type } = databases;
const fixture = await startTenantFixture({ exported: [databases] });
const { consumer, provider, cleanup, onProvider, onConsumer, untilReady, untilReason, create } = fixture;
const gate = cleanup.use(await TcpProxy.start(provider.url));
const first = fixture.kubeconfig.replace(provider.url, gate.url);
await putKubeconfig(provider, providerSecret, first);
const timing = { unreachableAfterMs: 500, heartbeatMs: 1_000, massDeletionLimit: 3 };
let konnector: RunningKonnector = cleanup.use(await startKonnector(fixture, { timing }));
const klutch = await klutchProcess(fixture);
const folder = await mkdtemp(join(tmpdir(), "klutch-explain-"));
cleanup.defer(() => rm(folder, { recursive: true }));
const controlPlane = join(folder, "control-plane");
await writeFile(controlPlane, provider.kubeconfig, { mode: 0o600 });
await bindApi(fixture, databases.name, first);
await untilReady(databases.name);

/** Runs the command for a claim, and keeps its text with the test's result. */
async function explained(t: TestContext, name: string, ...more: readonly string[]): Promise<string> {
  const { code, text } = await klutch("explain", `database/${name}`, "-n", "app", ...more);
  t.diagnostic(text);
  return `${code} ${text}`;
}
const above = ["--control-plane-kubeconfig", controlPlane];

async function says(name: string, status: object): Promise<void> {
  const upstream = await waitFor(`${name} on the provider`, () => onProvider(type, name));
  const ref = { namespace: serviceNamespace, name };
  const patch = { status: { observedGeneration: upstream.metadata.generation, ...status } };
  await provider.client.mergePatch(type, ref, patch, { subresource: "status" });
}
const reasonOf = async (name: string): Promise<unknown> =>
  recordsAt((await onConsumer(type, name))?.status, "conditions").find((one) => one["type"] === "Ready")?.[
    "reason"
  ];
const untilShown = (name: string, reason: string): Promise<unknown> =>
  waitFor(`${name} to show ${reason}`, async () => (await reasonOf(name)) === reason);
const untilSaid = (name: string, words: string): Promise<unknown> =>
  waitFor(`${name} to say: ${words}`, async () =>
    JSON.stringify((await onConsumer(type, name))?.status).includes(words),
  );
const edit = (name: string, size: number): Promise<unknown> =>
  consumer.client.mergePatch(type, { namespace: "app", name }, { spec: { size } });

test("a claim that is well is well, also seen with the control plane; its Secret is missed until it is there", async (t) => {
  await create(type, widget(type, "kept", { size: 1 }));
  await says("kept", { ...readyStatus("kept-creds"), managed: { state: "provisioned" } });
  await untilShown("kept", "Available");
  assert.match(await explained(t, "kept"), /^0 Database app\/kept \(databases\S+\): well\n/);
  const seen = await explained(t, "kept", ...above);
  assert.match(seen, /\ndone +written above +\S+\* +Database\/kept in \S+\n/);
  assert.match(seen, /^0 /);
  await says("kept", readyStatus("kept-creds"));
  await waitFor("the name of the Secret", async () =>
    JSON.stringify((await onConsumer(type, "kept"))?.status).includes("kept-creds"),
  );
  assert.match(
    await explained(t, "kept"),
    /^2 [^]*\nwaiting +Secret +Secret\/kept-creds: it is not in this cluster yet\n/,
  );
  await says("kept", { managed: { credentials: null } });
  await waitFor(
    "the name to go",
    async () => !JSON.stringify((await onConsumer(type, "kept"))?.status).includes("kept-creds"),
  );
});

test("a refusal of the broker comes with the developer's next command", async (t) => {
  await create(type, widget(type, "wrong", { size: 7 }));
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const words = {
    reason: "Refused",
    message: "size 7 is not supported; change spec.size",
    lastTransitionTime,
  };
  const conditions = ["Ready", "klutch.anynines.com/Ready"].map((name) => ({
    type: name,
    status: "False",
    ...words,
  }));
  await says("wrong", { conditions, managed: { state: "failed", createdAt: lastTransitionTime } });
  await untilShown("wrong", "Refused");
  const text = await explained(t, "wrong");
  assert.match(
    text,
    /^2 [^]*\ncause +size 7 is not supported; change spec\.size\nwho +the developer can fix it\nnext +kubectl edit databases\S+ wrong -n app\n/,
  );
  assert.match(text, /\nnote: The control plane made this \d+ h before it existed here/);
});

test("a claim beyond the limit says whom to ask", async (t) => {
  const counted = `count/${databases.name}`;
  const hard = { [counted]: "2" };
  const quota = { namespace: serviceNamespace, name: "klutch-limits" };
  await provider.client.create(resourceQuotas, objectOfType(resourceQuotas, quota, { spec: { hard } }));
  const status = { hard, used: { [counted]: "2" } };
  await provider.client.mergePatch(resourceQuotas, quota, { status }, { subresource: "status" });
  const limits = [{ group: type.group, resource: type.plural, max: 2, used: 2 }];
  const ref = { namespace: tenantNamespace, name: clusterBindingName };
  await provider.client.mergePatch(
    clusterBindings,
    ref,
    { status: { limits, contact: "Ann" } },
    { subresource: "status" },
  );
  await create(type, widget(type, "third", { size: 1 }));
  await untilSaid("third", "has 2; ask Ann");
  assert.match(
    await explained(t, "third", ...above),
    /^2 [^]*\nfailed +written above +\S+ +this cluster may have 2 databases, has 2; ask Ann\n[^]*\nwho +the developer can fix it\nnext +kubectl get databases\S+ -A, and delete one/,
  );
  await provider.client.delete(resourceQuotas, quota);
  await provider.client.mergePatch(
    clusterBindings,
    ref,
    { status: { limits: null } },
    { subresource: "status" },
  );
  await waitFor("third on the provider", () => onProvider(type, "third"));
});

test("an outage is the network's, and a claim that was ready stays well with a note", async (t) => {
  await gate.shut();
  await edit("wrong", 8);
  await untilShown("wrong", "SpecNotSent");
  await untilReason(databases.name, "Ready", "ProviderUnreachable");
  await untilSaid("wrong", "has not been reached since");
  assert.match(
    await explained(t, "wrong"),
    /^2 [^]*\nfailed +written above +\S+ +.*the provider has not been reached since [^]*\nwho +an operator can fix it\nnext +repair the network/,
  );
  assert.match(
    await explained(t, "kept"),
    /^0 [^]*\nnote: APIServiceBinding \S+ Heartbeating ProviderUnreachable: /,
  );
  await gate.open();
  await untilReady(databases.name);
});

test("without a konnector neither a new nor an edited claim is seen", async (t) => {
  await konnector[Symbol.asyncDispose]();
  await create(type, widget(type, "unseen", { size: 1 }));
  await edit("kept", 2);
  for (const name of ["unseen", "kept"])
    assert.match(
      await explained(t, name),
      /^2 [^]*\nfailed +seen by the agent +no konnector works in this cluster\n[^]*\nnext +klutch doctor\n/,
      name,
    );
  konnector = cleanup.use(await startKonnector(fixture, { timing }));
  await waitFor("unseen on the provider", () => onProvider(type, "unseen"));
  await untilShown("kept", "SpecNotObserved");
  assert.match(await explained(t, "kept", ...above), /^2 [^]*\nwaiting +composite +/);
});

test("many deletions are held, and the command that releases them is named", async (t) => {
  for (const name of ["kept", "wrong", "third", "unseen"])
    await consumer.client.delete(type, { namespace: "app", name });
  await untilReason(databases.name, "DeletionHeld", "MassDeletion");
  const held = await waitFor("a held claim", async () => {
    for (const name of ["unseen", "third", "wrong", "kept"])
      if ((await reasonOf(name)) === "DeletionHeld") return name;
    return undefined;
  });
  assert.match(
    await explained(t, held),
    /^2 [^]*\nfailed +written above +[^]*its deletion is held[^]*\nwho +an operator can fix it\nnext +when that is right: klutch release databases\S+\n/,
  );
});

test("a refused credential is told apart from an outage", async (t) => {
  await endTokens(provider, first);
  await gate.shut();
  await gate.open();
  await untilReason(databases.name, "Heartbeating", "CredentialRefused");
  await create(type, widget(type, "refused", { size: 1 }));
  await untilShown("refused", "SpecNotSent");
  const wanted =
    /^2 [^]*\nfailed +written above +\S+ +.*refuses the credential[^]*\nwho +an operator can fix it\nnext +if the access was not revoked on purpose: kubectl bind\n/;
  // A claim says what its last attempt met, which may be the end of the connections; the next one is a minute away at most.
  await waitFor("the refusal", async () => wanted.test(await explained(t, "refused")), { timeoutMs: 90_000 });
});
