/**
 * `npm run bench:rolling`: a whole sandbox in whose app cluster people apply and change claims of databases while one of its programs after
 * the other is told to end (SIGTERM) and comes back in its place, three times in each burst. `--claims 16`, `--only words` of the lines.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { apiServiceBindings, consumerNamespace, releaseDeletionsAnnotation } from "@klutch/api";
import { conditionsOf, type DynamicObject, findCondition, namespaces, numberAt } from "@klutch/kube-core";
import { namespaceObject, waitFor } from "@klutch/kube-testing";
import { childOf, runsApp } from "../e2e/children.ts";
import { instances, nano } from "../e2e/claim-kinds.ts";
import { Claims } from "../e2e/claims.ts";
import { openLedger } from "../e2e/faults/chains/ledger.ts";
import { startOwnSandbox } from "../e2e/own-sandbox.ts";
import { describeLoad, runBenchmark } from "./harness/program.ts";
import { quantile, secondsText } from "./harness/statistics.ts";

type Finder = (words: readonly string[]) => boolean;

const app =
  (name: string): Finder =>
  (words) =>
    runsApp(words, name);
const parts: readonly (readonly [title: string, find: Finder | undefined])[] = [
  ["nothing ends", undefined],
  ["provider", app("provider-anynines")],
  ["function", app("function-klutch")],
  ["Crossplane", ([program = "", command]) => program.endsWith("/crossplane") && command === "core"],
  ["backend", app("backend")],
  ["konnectors", app("konnector")],
];

const namespace = "rolling";
const otherPlan = { plan: "postgresql-single-small" };
const betweenMs = 1_500;

async function main({ claims: count, only }: { claims: number; only: string }): Promise<boolean> {
  await using sandbox = await startOwnSandbox("rolling");
  await sandbox.bind(instances.plural);
  const client = await sandbox.client("app-a", { flowControl: false });
  await client.create(namespaces, namespaceObject(namespace));
  // All claims of a part are deleted at once, on purpose.
  const binding = { namespace: consumerNamespace, name: `${instances.plural}.${instances.group}` };
  const release = { metadata: { annotations: { [releaseDeletionsAnnotation]: "2099-01-01T00:00:00Z" } } };
  await client.mergePatch(apiServiceBindings, binding, release);
  const claims = new Claims(client, namespace, 180_000);
  await using ledger = await openLedger(sandbox.folder);
  // The namespace's mapping and all first times.
  await claims.create(instances, "warm", nano);
  await claims.ready(instances, "warm");
  await claims.delete(instances, "warm");
  console.log(`load ${describeLoad()}`);
  let isGood = true;
  for (const [title, find] of parts.filter(([name]) => only.split(",").some((word) => name.includes(word)))) {
    const names = Array.from(
      { length: count },
      (_, index) => `${title.toLowerCase().replaceAll(" ", "-")}-${index}`,
    );
    const during = async (number: number): Promise<void> => {
      if (find === undefined || ![4, 8, 12].includes(number)) return;
      process.kill(await waitFor("the program to run", () => childOf(sandbox.pid, find)), "SIGTERM");
    };
    const known = (await ledger.entries()).length;
    const created = await burst(claims, names, during, (name) => claims.create(instances, name, nano));
    const news = (await ledger.entries()).slice(known);
    const made = news.filter(({ table, did }) => table === "instances" && did === "INSERT");
    const changed = await burst(claims, names, during, (name) =>
      claims.patch(instances, name, { spec: otherPlan }),
    );
    await claims.delete(instances, ...names);
    const lost = [...created.lost, ...changed.lost];
    for (const one of lost) console.log(`lost: ${one}`);
    const double = made.length - count + created.failed;
    console.log(
      `${title}: ${2 * count} requests, ${created.failed + changed.failed} failed, ${lost.length} lost, ${double} made twice; ` +
        `created → ready ${created.waits}; changed → ready ${changed.waits}`,
    );
    isGood &&= lost.length === 0 && double === 0;
  }
  return isGood;
}

/** The results of a burst. */
interface Seen {
  /** Requests that the person's API server did not take. */
  readonly failed: number;
  /** Claims that were not ready in three minutes, with their status. */
  readonly lost: readonly string[];
  /** The times from each request until the claim is ready as requested. */
  readonly waits: string;
}

/** Asks for one claim after the other; `during` is called before each of them with its number, from 0 on. */
async function burst(
  claims: Claims,
  names: readonly string[],
  during: (number: number) => Promise<void>,
  ask: (name: string) => Promise<DynamicObject>,
): Promise<Seen> {
  const answers: Promise<unknown>[] = [];
  const waits: number[] = [];
  const lost: string[] = [];
  let failed = 0;
  for (const [number, name] of names.entries()) {
    await during(number);
    const began = performance.now();
    const asked = await ask(name).catch(() => undefined);
    if (asked === undefined) failed++;
    else
      answers.push(
        claims.become(instances, name, "ready", isReadyFor(asked.metadata.generation)).then(
          () => waits.push(performance.now() - began),
          (error: unknown) => lost.push(String(error)),
        ),
      );
    await sleep(betweenMs);
  }
  await Promise.all(answers);
  const text = `half ${secondsText(quantile(waits, 0.5))}, longest ${secondsText(quantile(waits, 1))}`;
  return { failed, lost, waits: text };
}

/** A claim's word counts for the spec that was asked for. */
function isReadyFor(generation: number | undefined): (claim: DynamicObject) => boolean {
  return ({ status }) => {
    const ready = findCondition(conditionsOf({ status }), "Ready");
    const observed = numberAt(ready, "observedGeneration") ?? numberAt(status, "observedGeneration");
    return ready?.status === "True" && observed === generation;
  };
}

process.exitCode = await runBenchmark({ claims: 16, only: "" }, main);
