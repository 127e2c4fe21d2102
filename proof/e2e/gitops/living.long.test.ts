import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import { readyWordsCondition, serviceInstances } from "@klutch/api";
import { type DynamicObject, isRecord, listAt, numberAt, type ResourceType, textAt } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { backups, compositeOf, instances, nano, restores } from "../claim-kinds.ts";
import { startOwnSandbox } from "../own-sandbox.ts";
import { explainFailures } from "../sandbox-ends.ts";
import { type History, recordHistory } from "../history.ts";
import { judge, type Verdicts } from "./judge.ts";

const namespace = "demo";

const sandbox = await startOwnSandbox("gitops");
explainFailures(sandbox);
const stack = new AsyncDisposableStack();
stack.use(sandbox);
after(() => stack.disposeAsync());
const kinds = [instances, backups, restores];
await sandbox.bind(...kinds.map(({ plural }) => plural));
const appA = await sandbox.client("app-a");
const controlPlane = await sandbox.client("control-plane");
const histories = new Map<ResourceType, History>();
const composites = new Map<ResourceType, History>();
for (const type of kinds) {
  // A kind that was just made cannot be watched in its first moment.
  const record = (): Promise<History> => recordHistory(appA, type, namespace);
  histories.set(type, stack.use(await waitFor(`a watch of ${type.plural}`, record)));
  composites.set(type, stack.use(await recordHistory(controlPlane, compositeOf(type))));
}

interface Said {
  readonly status: string | undefined;
  readonly reason: string | undefined;
  /** Generation that it is about. */
  readonly number: number | undefined;
}

function said({ status }: DynamicObject, type: string): Said {
  const own = listAt(status, "conditions").find((one) => isRecord(one) && one["type"] === type);
  return {
    status: textAt(own, "status"),
    reason: textAt(own, "reason"),
    number: numberAt(own, "observedGeneration"),
  };
}

async function make(type: ResourceType, name: string, spec: object, marks: object = {}): Promise<void> {
  const metadata = { namespace, name, ...marks };
  await appA.create(type, { apiVersion: "anynines.com/v1", kind: type.kind, metadata, spec });
}

/** Waits until `Ready` of the claim's own generation has the reason. */
async function becomes(type: ResourceType, name: string, reason: string): Promise<void> {
  await waitFor(
    `${name} to be ${reason}`,
    async () => {
      const claim = await appA.get<DynamicObject>(type, { namespace, name });
      const own = said(claim, "Ready");
      if (own.reason === reason && own.number === claim.metadata.generation) return true;
      throw new Error(JSON.stringify(claim.status));
    },
    { timeoutMs: 90_000 },
  );
}

async function deleted(type: ResourceType, name: string): Promise<void> {
  await appA.delete(type, { namespace, name });
  const isGone = async (): Promise<boolean> => (await appA.find(type, { namespace, name })) === undefined;
  await waitFor(`${name} to be gone`, isGone, { timeoutMs: 90_000 });
}

interface Judged extends Verdicts {
  readonly claim: DynamicObject;
}

/** Returns each state of the claim with the tools' answers, having checked the answers that they must never give. */
async function judged(t: TestContext, type: ResourceType, name: string): Promise<readonly Judged[]> {
  const claims = histories.get(type)?.of(name) ?? [];
  const verdicts = await judge(claims);
  const all = claims.flatMap((claim, index) => {
    const verdict = verdicts[index];
    return verdict === undefined ? [] : [{ ...verdict, claim }];
  });
  const steps = all.map(({ claim, kstatus, argo, flux }) =>
    [
      claim.metadata.generation,
      kstatus.status,
      argo.status,
      flux.status,
      `(${said(claim, "Ready").reason})`,
    ].join(" "),
  );
  t.diagnostic(`${name}: ${steps.filter((step, index) => step !== steps[index - 1]).join(", ")}`);
  for (const one of all) assertTrue(one);
  return all;
}

function assertTrue({ claim, kstatus, argo, flux }: Judged): void {
  const { metadata, status } = claim;
  const what = JSON.stringify({ metadata: { ...metadata, managedFields: undefined }, status });
  assert.equal(kstatus.error + argo.error + flux.error, "", what);
  const isDeleted = metadata.deletionTimestamp !== undefined;
  assert.equal(kstatus.status === "Terminating", isDeleted, what);
  const own = said(claim, "Ready");
  const isReady = own.status === "True" && own.number === metadata.generation;
  const saysReady = [kstatus.status === "Current", argo.status === "Healthy", flux.status === "Current"];
  if (saysReady.includes(true)) {
    assert.ok(isReady && !isDeleted, `${saysReady.join()}: ${what}`);
    assert.equal(numberAt(status, "observedGeneration"), metadata.generation, what);
  }
}

/**
 * Returns how often Crossplane set the claim's composite back to words that it had replaced: a reconcile under load may begin with an old reading
 * and writes its conditions, which the next write puts right (docs/known-limits.md). Claims show that, too.
 */
function setBacks(type: ResourceType, name: string): number {
  const isOfClaim = ({ spec }: DynamicObject): boolean => textAt(spec, "claimRef", "name") === name;
  const words = (composites.get(type)?.where(isOfClaim) ?? []).map(({ status }) =>
    JSON.stringify(listAt(status, "conditions").find((one) => textAt(one, "type") === readyWordsCondition)),
  );
  return words.filter((word, index) => word !== words[index - 1] && words.slice(0, index).includes(word))
    .length;
}

/**
 * Asserts that all tools wait for the claim and then find it ready. They may do so once more for each time that Crossplane set it back; the
 * next edit, or the end of the history, may come before Crossplane puts the last one right.
 */
function assertBecomesReady(all: readonly Judged[], back: number, generation?: number): void {
  for (const [tool, wanted] of [
    ["kstatus", ["InProgress", "Current"]],
    ["argo", ["Progressing", "Healthy"]],
    ["flux", ["InProgress", "Current"]],
  ] as const) {
    const found = steps(all, tool, generation);
    const length = Math.min(Math.max(found.length, 2), 2 * (1 + back));
    assert.deepEqual(
      found,
      Array.from({ length }, (_, index) => wanted[index % 2]),
      tool,
    );
  }
}

/** Returns the answers of one tool, each step once. */
function steps(all: readonly Judged[], tool: keyof Verdicts, generation?: number): readonly string[] {
  const words = all
    .filter(({ claim }) => generation === undefined || claim.metadata.generation === generation)
    .map((one) => one[tool].status);
  return words.filter((status, index) => status !== words[index - 1]);
}

/** The value of each mark; it occurs nowhere else. */
const markOfTools = "a-gitops-tool";
const marks = {
  labels: Object.fromEntries(
    [
      "app.kubernetes.io/instance",
      "app.kubernetes.io/managed-by",
      "argocd.argoproj.io/instance",
      "helm.toolkit.fluxcd.io/name",
      "kustomize.toolkit.fluxcd.io/name",
      "helm.sh/chart",
    ].map((key) => [key, markOfTools]),
  ),
  annotations: Object.fromEntries(
    [
      "argocd.argoproj.io/tracking-id",
      "kustomize.toolkit.fluxcd.io/checksum",
      "meta.helm.sh/release-name",
    ].map((key) => [key, markOfTools]),
  ),
};

/** Nothing of the claim in the control plane bears a mark: a tool there would take it for its own, and prune it. */
async function assertNoMarksUpstream(name: string): Promise<void> {
  for (const type of [instances, compositeOf(instances), serviceInstances]) {
    const { items } = await controlPlane.list<DynamicObject>(type);
    const ours = items.filter(({ metadata }) =>
      JSON.stringify([metadata.name, metadata.labels]).includes(name),
    );
    assert.notEqual(ours.length, 0, type.kind);
    assert.ok(!JSON.stringify(items).includes(markOfTools), JSON.stringify(ours));
  }
}

async function patch(name: string, spec: object): Promise<void> {
  await appA.mergePatch(instances, { namespace, name }, { spec });
}

async function isRefused(name: string): Promise<void> {
  await waitFor("the refusal", async () => {
    const claim = await appA.get<DynamicObject>(instances, { namespace, name });
    const { reason, number } = said(claim, "Synced");
    return reason === "Refused" && number === claim.metadata.generation;
  });
}

const refusedParameters = { parameters: { walLevelLogical: true } };

function assertRefusalSaid(all: readonly Judged[]): void {
  const refused = all.find(({ argo }) => argo.status === "Degraded");
  assert.match(refused?.argo.message ?? "", /^Refused: .*wal_level_logical/);
  assert.equal(refused?.flux.status, "Failed");
}

test("at each step of a living instance kstatus, Argo CD and Flux report the true state: new, edited, refused, deleted", async (t) => {
  await make(instances, "judged", nano);
  await becomes(instances, "judged", "Available");
  await patch("judged", { plan: "postgresql-single-small" });
  await becomes(instances, "judged", "Available");
  await patch("judged", refusedParameters);
  await isRefused("judged");
  await deleted(instances, "judged");
  const all = await judged(t, instances, "judged");
  const back = setBacks(instances, "judged");
  for (const generation of [1, 2]) assertBecomesReady(all, back, generation);
  assertRefusalSaid(all);
  assert.equal(steps(all, "kstatus").at(-1), "Terminating");
  assert.equal(steps(all, "argo").at(-1), "Progressing");
  assert.equal(steps(all, "flux").at(-1), "InProgress");
});

test("a claim that the broker refuses is healthy once it is put right", async (t) => {
  await make(instances, "wrong", { ...nano, ...refusedParameters });
  await isRefused("wrong");
  await patch("wrong", { parameters: null });
  await becomes(instances, "wrong", "Available");
  await deleted(instances, "wrong");
  const all = await judged(t, instances, "wrong");
  assertRefusalSaid(all);
  assert.deepEqual(steps(all, "kstatus", 1), ["InProgress"]);
  assertBecomesReady(all, setBacks(instances, "wrong"), 2);
  assert.deepEqual(steps(all, "kstatus", 3), ["Terminating"]);
});

test("a backup and a restore are healthy when they are done, and not before; no mark of a tool goes up", async (t) => {
  await make(instances, "kept", nano, marks);
  await becomes(instances, "kept", "Available");
  await assertNoMarksUpstream("kept");
  const of = { instanceRef: "kept", serviceInstanceType: "postgresql" };
  await make(restores, "again", { ...of, backupRef: "nightly" });
  await becomes(restores, "again", "WaitingForBackup");
  await make(backups, "nightly", of);
  await becomes(backups, "nightly", "Available");
  await becomes(restores, "again", "Available");
  for (const [type, name] of [
    [backups, "nightly"],
    [restores, "again"],
  ] as const) {
    const all = await judged(t, type, name);
    assertBecomesReady(all, setBacks(type, name));
    await becomes(type, name, "Available");
  }
  await deleted(restores, "again");
  await deleted(backups, "nightly");
  await deleted(instances, "kept");
  await judged(t, instances, "kept");
});
