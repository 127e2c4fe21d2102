/** Case `watches`: how many watches the agent keeps open as exports, permission claims and namespaces grow. */
import { setTimeout as sleep } from "node:timers/promises";
import type { InformerScope } from "@klutch/api";
import { inParallel } from "../harness/api.ts";
import { startStopwatch } from "../harness/stopwatch.ts";
import { formatTable } from "../harness/table.ts";
import { widget, widgetKind, widgets } from "../harness/widget.ts";
import { within } from "../harness/within.ts";
import {
  type BenchFixture,
  createNamespaces,
  mirrorOf,
  providerOwned,
  startBenchFixture,
  untilServed,
} from "../harness/fixture.ts";
import type { BenchContext } from "./case.ts";

/** A size of the fixture. */
interface WatchStep {
  readonly exports: number;
  readonly namespaces: number;
}

/** Steps of which each extends the one before. */
const steps: readonly WatchStep[] = [
  { exports: 1, namespaces: 1 },
  { exports: 1, namespaces: 20 },
  { exports: 5, namespaces: 20 },
  { exports: 10, namespaces: 20 },
  { exports: 10, namespaces: 100 },
];
/** Steps for small runs. */
const smallSteps: readonly WatchStep[] = [
  { exports: 1, namespaces: 1 },
  { exports: 2, namespaces: 5 },
];
const smallRun = 1000;

interface Row extends WatchStep {
  readonly scope: InformerScope;
  readonly claims: number;
  readonly consumer: number;
  readonly provider: number;
  readonly formula: number;
  /** Watches by cluster and resource. */
  readonly byResource: Watches;
}

/** Case `watches`. */
export async function measureWatches(context: BenchContext): Promise<void> {
  const { say, report, keep, sizes } = context;
  const rows: Row[] = [];
  for (const scope of ["Cluster", "Namespaced"] as const)
    for (const claims of [0, 2])
      rows.push(...(await grow(context, scope, claims, sizes.claims < smallRun ? smallSteps : steps)));
  keep("watches", rows);
  const header = ["scope", "exports", "claims", "namespaces", "app cluster", "control plane", "formula"];
  const cells = rows.map((row) => [
    row.scope,
    ...[row.exports, row.claims, row.namespaces, row.consumer, row.provider, row.formula].map(String),
  ]);
  say(
    `open watches of the agent; formula of the Go konnector: exports × (1 + claims) [× namespaces]\n${formatTable(header, cells)}`,
  );
  for (const row of rows.filter(({ claims, namespaces }) => claims === 2 && namespaces >= 100)) {
    const what = `watches, ${row.scope}: ${row.exports} exports, 2 claims, ${row.namespaces} namespaces`;
    report(what, row.consumer + row.provider);
  }
}

async function grow(
  { agent, random, say }: BenchContext,
  scope: InformerScope,
  claims: number,
  path: readonly WatchStep[],
): Promise<Row[]> {
  const permissionClaims = (["secrets", "configmaps"] as const).slice(0, claims).map(providerOwned);
  await using fixture = await startBenchFixture({
    agent,
    informerScope: scope,
    permissionClaims,
    started: false,
  });
  await using arriving = await startStopwatch(fixture.provider.cluster.client, widgets);
  // API servers open watches of their own for some seconds after their start.
  const base = await steadyWatches(fixture);
  await fixture.agent.start();
  await untilServed(fixture, widgetKind(0));
  const rows: Row[] = [];
  const now = { exports: 1, namespaces: 0 };
  for (const step of path) {
    for (; now.exports < step.exports; now.exports++) {
      const kind = widgetKind(now.exports);
      await fixture.bind(kind);
      await untilServed(fixture, kind);
    }
    const fresh = Array.from(
      { length: step.namespaces - now.namespaces },
      (_, index) => `ns-${now.namespaces + index}`,
    );
    now.namespaces = step.namespaces;
    await createNamespaces(fixture.consumer.api, fresh);
    const arrived = fresh.map((namespace) => arriving.seen(`${mirrorOf(namespace)}/first`));
    await inParallel(fresh, (namespace) =>
      fixture.consumer.api.create(widgets, widget(namespace, "first", { random, bytes: 200 })),
    );
    await within(Promise.all(arrived), 120_000, "a claim of each namespace to arrive", fixture.problem);
    const byResource = difference(base, await steadyWatches(fixture));
    const factor = scope === "Cluster" ? 1 : step.namespaces;
    const row = {
      ...step,
      scope,
      claims,
      consumer: totalOn(onConsumer, byResource),
      provider: totalOn(onProvider, byResource),
      formula: step.exports * (1 + claims) * factor,
      byResource,
    };
    say(
      `${scope}, ${step.exports} exports, ${claims} claims, ${step.namespaces} namespaces: ${row.consumer} + ${row.provider}`,
    );
    rows.push(row);
  }
  return rows;
}

type Watches = Readonly<Record<string, number>>;

const onConsumer = "app cluster";
const onProvider = "control plane";

/** The counts when they have stayed the same for three readings. */
async function steadyWatches(fixture: BenchFixture): Promise<Watches> {
  let last: Watches = {};
  for (let same = 0; same < 3; ) {
    await sleep(1000);
    const next = await openWatches(fixture);
    same = Object.keys(difference(last, next)).length === 0 ? same + 1 : 0;
    last = next;
  }
  return last;
}

async function openWatches({ consumer, provider }: BenchFixture): Promise<Watches> {
  const sides = [
    [onConsumer, await consumer.calls()],
    [onProvider, await provider.calls()],
  ] as const;
  return Object.fromEntries(
    sides.flatMap(([where, { watches }]) =>
      [...watches].map(([resource, count]) => [`${where} ${resource}`, count] as const),
    ),
  );
}

function difference(before: Watches, after: Watches): Watches {
  const names = Object.keys({ ...before, ...after });
  const changes = names.map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)] as const);
  return Object.fromEntries(changes.filter(([, change]) => change !== 0));
}

function totalOn(where: string, watches: Watches): number {
  const own = Object.entries(watches).filter(([name]) => name.startsWith(where));
  return own.reduce((sum, [, count]) => sum + count, 0);
}
