import assert from "node:assert/strict";
import { test } from "node:test";
import { argoHealth, fluxHealth, generations, services } from "@klutch/services";
import { judge } from "./judge.ts";
import { claimWith, malformedStatuses, type State, states, strangeStates } from "./states.ts";

const kinds = [...services().map(({ kind }) => kind), "ServiceBinding", "Backup", "Restore"].toSorted();

test("both tools get a check for each kind of each generation that app clusters can bind", () => {
  const wanted = generations.flatMap(({ group }) => kinds.map((kind) => `${group}/v1 ${kind}`)).toSorted();
  const ofArgo = Object.keys(argoHealth().data).map((key) =>
    key.replace(/^resource\.customizations\.health\.(.+)_(\w+)$/, "$1/v1 $2"),
  );
  assert.deepEqual(ofArgo.toSorted(), wanted);
  const ofFlux = fluxHealth().spec.healthCheckExprs.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`);
  assert.deepEqual(ofFlux.toSorted(), wanted);
});

async function assertJudged(table: readonly State[]): Promise<void> {
  const verdicts = await judge(table.map(({ claim }) => claim));
  const said = verdicts.map(({ kstatus, argo, flux }, index) => [
    table[index]?.name,
    kstatus.error + argo.error + flux.error,
    kstatus.status,
    argo.status,
    flux.status,
  ]);
  assert.deepEqual(
    said,
    table.map(({ name, expected }) => [name, "", ...expected]),
  );
}

test("kstatus, Argo CD and Flux show people the expected answer for each state of a claim", () =>
  assertJudged(states));

test("a strange provider makes no check fail, and no check reports ready for a spec that it did not see", () =>
  assertJudged(strangeStates));

test("each kind of each generation has the same words for waiting, refused and ready", async () => {
  const named = (pattern: RegExp): State | undefined => states.find(({ name }) => pattern.test(name));
  const wanted = [/is being made/, /broker refused/, /that is ready$/].map(named);
  const claims = generations.flatMap(({ group }) =>
    kinds.flatMap((kind) =>
      wanted.map((one) => ({ ...claimWith(one?.claim.status, kind), apiVersion: `${group}/v1` })),
    ),
  );
  const verdicts = await judge(claims);
  assert.deepEqual(
    verdicts.map(({ argo, flux }) => `${argo.status} ${flux.status}`),
    claims.flatMap((_claim, index) =>
      index % 3 === 0 ? ["Progressing InProgress", "Degraded Failed", "Healthy Current"] : [],
    ),
  );
});

test("Argo CD shows the words of the condition that decided", async () => {
  const [refused, started] = await judge([
    claimWith({
      conditions: [{ type: "Ready", status: "False", reason: "Refused", message: "change spec.plan" }],
    }),
    claimWith({ observedGeneration: -1 }),
  ]);
  assert.equal(refused?.argo.message, "Refused: change spec.plan");
  assert.equal(started?.argo.message, "nothing was said of this spec yet");
});

test("a status that is no status makes no check fail", async () => {
  const verdicts = await judge(malformedStatuses.map((status) => claimWith(status)));
  for (const [index, { argo, flux }] of verdicts.entries()) {
    const what = JSON.stringify(malformedStatuses[index]);
    assert.equal(argo.error, "", what);
    assert.match(argo.status, /^(?:Progressing|Healthy)$/, what);
    // Flux itself, before it asks an expression, takes a number that is none for an error.
    if (!what.includes('"observedGeneration":null}')) assert.equal(flux.error, "", what);
  }
});

test("a claim without any status is current for kstatus, so ours get a number at once; Argo CD waits, Flux has no answer yet", async () => {
  const [verdict] = await judge([claimWith(undefined)]);
  assert.equal(verdict?.kstatus.status, "Current");
  assert.equal(verdict?.argo.status, "Progressing");
  // CEL cannot ask whether there is a status. Flux goes on polling until there is one.
  assert.match(verdict?.flux.error ?? "", /no such attribute\(s\): status/);
});

test("a check with a fault is refused before anything is judged", async () => {
  await assert.rejects(
    judge([]).then(() => judge([[]])),
    /an object cannot be read/,
  );
});
