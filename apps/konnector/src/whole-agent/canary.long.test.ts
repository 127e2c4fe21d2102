/** The canary between real API servers, with the shipped backend as a process of its own, and with one that lies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ClusterBinding, clusterBindingName, clusterBindings } from "@klutch/api";
import { isInvalid } from "@klutch/kube";
import { customResourceDefinitions, type DynamicObject } from "@klutch/kube-core";
import { type BackendProcess, startBackendProcess, TcpProxy, waitFor } from "@klutch/kube-testing";
import { type Outcome, outcomes } from "../controllers/canary/probe.ts";
import { providerSecret, putKubeconfig } from "../testing/credentials.ts";
import { bindApi, startKonnector, testApi } from "../testing/fixture.ts";
import { tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const widgets = testApi("widgets", "Widget");
const fixture = await startTenantFixture({ exported: [widgets], backend: true });
const { provider, cleanup, untilReady } = fixture;
const { client } = provider;
const gate = cleanup.use(await TcpProxy.start(provider.url));
const kubeconfig = fixture.kubeconfig.replace(provider.url, gate.url);
await putKubeconfig(provider, providerSecret, kubeconfig);
const timing = { canaryMs: 1_000, canaryLateMs: 900, unreachableAfterMs: 500 };
const konnector = cleanup.use(await startKonnector(fixture, { timing }));
await bindApi(fixture, widgets.name, kubeconfig);
await untilReady(widgets.name);

let name = 0;
const startBackend = async (answersPerMinute: number): Promise<BackendProcess> =>
  cleanup.use(
    await startBackendProcess(provider, {
      name: `backend-${name++}`,
      flags: [
        `--external-address=${gate.url}`,
        "--lease-namespace=default",
        `--canary-answers-per-minute=${answersPerMinute}`,
      ],
    }),
  );

const ref = { namespace: tenantNamespace, name: clusterBindingName };
const canary = async (): Promise<{
  readonly sent?: number | undefined;
  readonly answered?: number | undefined;
}> => (await client.get<ClusterBinding>(clusterBindings, ref)).status?.canary ?? {};

type Figures = Readonly<Record<Outcome | "lags", number>>;

async function figures(): Promise<Figures> {
  const text = await (await fetch(`http://127.0.0.1:${konnector.probePort}/metrics`)).text();
  const value = (line: RegExp): number => Number(line.exec(text)?.[1]);
  const counted = outcomes.map((outcome) => [
    outcome,
    value(new RegExp(`^klutch_canary_probes_total\\{outcome="${outcome}"\\} (\\d+)$`, "m")),
  ]);
  const lags = value(/^klutch_canary_seconds_count (\d+)$/m);
  return Object.fromEntries([...counted, ["lags", lags]]) as Figures;
}

/** Waits until the outcome was counted `more` times more. */
async function counts(outcome: Outcome, more = 2): Promise<Figures> {
  const before = await figures();
  return waitFor(
    `${more} probes more to be ${outcome}`,
    async () => {
      const now = await figures();
      return now[outcome] >= before[outcome] + more && now;
    },
    { timeoutMs: 60_000 },
  );
}

const failures = ({ lost, late, refused, unreachable }: Figures): number =>
  lost + late + refused + unreachable;

test("a control plane that answers no probes is no failure", async () => {
  const now = await counts("unsupported", 1);
  assert.equal(failures(now), 0);
  assert.equal(now.lags, 0);
});

let backend: BackendProcess;

test("probes go up, their answers come down, and the way is measured", async () => {
  backend = await startBackend(600);
  const now = await counts("answered", 3);
  assert.equal(now.lags, now.answered + now.late);
  const text = await (await fetch(`${backend.probeUrl}/metrics`)).text();
  assert.match(text, /^klutch_canary_answers_total\{state="answered"\} [1-9]/m);
});

test("without a backend probes are lost, and figures of a liar move nothing", async () => {
  await backend.stop();
  await counts("lost", 1);
  const before = await figures();
  // One ahead of the probe, one of before, and the largest one.
  for (let round = 0; round < 8; round++) {
    const { sent = 0 } = await canary();
    for (const answered of [sent + 1, sent - 1, 0, Number.MAX_SAFE_INTEGER])
      await client.mergePatch(
        clusterBindings,
        ref,
        { status: { canary: { answered } } },
        { subresource: "status" },
      );
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  for (const answered of ["x".repeat(100_000), -1, 2 ** 60])
    await assert.rejects(
      client.mergePatch(
        clusterBindings,
        ref,
        { status: { canary: { answered } } },
        { subresource: "status" },
      ),
      isInvalid,
    );
  const now = await counts("lost", 1);
  assert.equal(now.answered, before.answered);
  assert.equal(now.lags, before.lags);
  assert.equal(now.unsupported, before.unsupported);
});

test("a control plane that is away is unreachable, and answers when it is back", async () => {
  await gate.shut();
  await counts("unreachable");
  await gate.open();
  backend = await startBackend(600);
  await counts("answered");
});

test("one that asks more often than it may is answered later", async () => {
  await backend.stop();
  backend = await startBackend(12);
  await counts("lost", 3);
  const text = await (await fetch(`${backend.probeUrl}/metrics`)).text();
  assert.match(text, /^klutch_canary_answers_total\{state="held"\} [1-9]/m);
});

test("a backend whose canary is switched off takes its number away", async () => {
  await backend.stop();
  backend = await startBackend(0);
  await waitFor("the number to be gone", async () => (await canary()).answered === undefined);
  await counts("unsupported", 1);
});

test("a control plane of before, which drops the number, is no failure", async () => {
  const crd = { name: `clusterbindings.${clusterBindings.group}` };
  const { spec } = await client.get<DynamicObject & { spec: { versions: readonly object[] } }>(
    customResourceDefinitions,
    crd,
  );
  const versions = structuredClone(spec.versions) as {
    schema: { openAPIV3Schema: { properties: { status: { properties: Record<string, unknown> } } } };
  }[];
  for (const { schema } of versions) delete schema.openAPIV3Schema.properties.status.properties["canary"];
  await client.mergePatch(customResourceDefinitions, crd, { spec: { versions } });
  const before = failures(await figures());
  const now = await counts("unsupported", 1);
  assert.equal(failures(now), before);
});
