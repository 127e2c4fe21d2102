/** Case `watches`: how many watches the agent keeps open as exports, permission claims and namespaces grow. */
import { setTimeout as sleep } from "node:timers/promises";
import type { InformerScope } from "@klutch/api";
import { claimRef, Claims } from "../harness/claims.ts";
import {
  type BenchFixture,
  createNamespaces,
  providerOwned,
  startBenchFixture,
  untilBound,
} from "../harness/fixture.ts";
import { formatTable } from "../harness/statistics.ts";
import { widgetKind } from "../harness/widget.ts";
import type { BenchContext } from "./case.ts";

/** Numbers of exports and of namespaces; each step extends the one before. */
type Steps = readonly (readonly [exports: number, namespaces: number])[];

const steps: Steps = [
  [1, 1],
  [1, 20],
  [5, 20],
  [10, 20],
  [10, 100],
];
/** Smaller runs take the first steps only, which have one export. */
const smallRun = 1000;

/** Case `watches`. */
export async function measureWatches(context: BenchContext): Promise<void> {
  const { say, sizes } = context;
  const rows: (readonly string[])[] = [];
  const path = steps.filter(([exports]) => exports === 1 || sizes.claims >= smallRun);
  for (const scope of ["Cluster", "Namespaced"] as const)
    for (const claims of [0, 2]) rows.push(...(await grow(context, scope, claims, path)));
  const header = ["scope", "exports", "claims", "namespaces", "app cluster", "control plane", "formula"];
  say("open watches of the agent; formula of the Go konnector: exports × (1 + claims) [× namespaces]");
  console.log(formatTable(header, rows));
}

/** Returns a row for each step. */
async function grow(
  { setUp, random, say, report }: BenchContext,
  scope: InformerScope,
  claims: number,
  path: Steps,
): Promise<readonly (readonly string[])[]> {
  const permissionClaims = (["secrets", "configmaps"] as const).slice(0, claims).map(providerOwned);
  const options = { ...setUp, informerScope: scope, permissionClaims, started: false };
  await using fixture = await startBenchFixture(options);
  const contents = { random, bytes: 200 };
  await using arriving = await Claims.watch(fixture, { contents, limitMs: 120_000 });
  // API servers open watches of their own for some seconds after their start.
  const base = await steadyWatches(fixture);
  await fixture.agent.start();
  await untilBound(fixture, widgetKind(0));
  const rows: string[][] = [];
  let [exported, named] = [1, 0];
  for (const [exports, namespaces] of path) {
    for (; exported < exports; exported++) {
      const kind = widgetKind(exported);
      await fixture.bind(kind);
      await untilBound(fixture, kind);
    }
    const fresh = Array.from({ length: namespaces - named }, (_, index) => `ns-${named + index}`);
    named = namespaces;
    await createNamespaces(fixture.consumer.api, fresh);
    await arriving.sendAll(fresh.map((namespace) => claimRef("first", namespace)));
    const now = await steadyWatches(fixture);
    const [consumer, provider] = [now.consumer - base.consumer, now.provider - base.provider];
    const formula = exports * (1 + claims) * (scope === "Cluster" ? 1 : namespaces);
    rows.push([scope, ...[exports, claims, namespaces, consumer, provider, formula].map(String)]);
    const what = `${scope}: ${exports} exports, ${claims} claims, ${namespaces} namespaces`;
    say(`${what}: ${consumer} + ${provider}`);
    if (claims === 2 && namespaces >= 100) report(`watches, ${what}`, consumer + provider);
  }
  return rows;
}

/** Numbers of open watches. */
interface Watches {
  readonly consumer: number;
  readonly provider: number;
}

/** The numbers when they have stayed the same for three readings. */
async function steadyWatches({ consumer, provider }: BenchFixture): Promise<Watches> {
  let last: Watches = { consumer: 0, provider: 0 };
  for (let same = 0; same < 3; ) {
    await sleep(1000);
    const [ofConsumer, ofProvider] = [await consumer.calls(), await provider.calls()];
    const isSame = ofConsumer.watches === last.consumer && ofProvider.watches === last.provider;
    same = isSame ? same + 1 : 0;
    last = { consumer: ofConsumer.watches, provider: ofProvider.watches };
  }
  return last;
}
