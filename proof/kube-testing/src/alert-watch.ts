/**
 * Watches servers of a test by a real Prometheus with the alerts of docs/monitoring.md. A test cannot wait for minutes, so time is divided by
 * `fasterBy`: the waits of alerts (`for`), the ranges of rates, and the limits of a busy worker and of a slow sync. Everything else is as it ships;
 * scrapes and evaluations come each second.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPrometheus } from "@klutch/engines";
import { parseYaml } from "@klutch/kube";
import { recordAt, recordsAt, textAt } from "@klutch/kube-core";
import { waitFor } from "./wait-for.ts";

/** Names of the jobs as the charts' monitors make them. */
const jobNames = {
  backend: "klutch-backend-metrics",
  konnector: "konnector-metrics",
  provider: "klutch-backend/klutch-provider",
} as const;

/** Options of a watch. */
export interface AlertWatchOptions {
  /** Ports of `/metrics` on loopback, by program. */
  readonly ports: Readonly<Partial<Record<keyof typeof jobNames, readonly number[]>>>;
  /** Default 60: minutes become seconds. */
  readonly fasterBy?: number | undefined;
}

/** One series over time. */
export interface Line {
  readonly labels: Readonly<Record<string, string>>;
  /** Seconds since the epoch, and value. */
  readonly points: readonly (readonly [moment: number, value: number])[];
}

/** Alerts as Prometheus sees them. */
export interface AlertWatch extends AsyncDisposable {
  /** Returns the names of alerts that wait or fire. */
  active(): Promise<readonly string[]>;
  /** Returns the names of alerts that fired at any time in the last day. */
  fired(): Promise<readonly string[]>;
  /** Waits until the alert fires; returns its labels. */
  fires(alert: string, timeoutMs?: number): Promise<Readonly<Record<string, string>>>;
  /** Waits until the alert neither waits nor fires. */
  clears(alert: string, timeoutMs?: number): Promise<void>;
  /**
   * Causes the fault, waits until the alert fires, ends the fault and waits until the alert is gone. Throws if the alert was active before.
   * Other alerts may fire with it. Prints both times.
   */
  seesFault(
    alert: string,
    fault: () => Promise<unknown>,
    end: () => Promise<unknown>,
  ): Promise<Readonly<Record<string, string>>>;
  /** Waits until every target is scraped and every rule was evaluated without an error. */
  settles(): Promise<void>;
  /** Returns the values of a query's series at present. Throws with Prometheus' words if it is none. */
  query(expression: string): Promise<readonly number[]>;
  /** Returns the series of a query in the last five minutes. */
  lines(expression: string): Promise<readonly Line[]>;
}

/** Starts Prometheus. Disposing the watch ends it. */
export async function startAlertWatch(options: AlertWatchOptions): Promise<AlertWatch> {
  const { ports, fasterBy = 60 } = options;
  await using starting = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "klutch-prometheus-"));
  starting.defer(() => rm(folder, { recursive: true, force: true }));
  const groups = (await documentedGroups()).map((group) => ({
    ...group,
    rules: fasterRules(group, fasterBy),
  }));
  const jobs = Object.fromEntries(
    Object.entries(jobNames).flatMap(([program, job]) => {
      const own = ports[program as keyof typeof jobNames];
      return own === undefined ? [] : [[job, own.map((port) => `127.0.0.1:${port}`)]];
    }),
  );
  const prometheus = starting.use(await startPrometheus(folder, { jobs, groups }));
  const stack = starting.move();
  const seen = async (): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    recordsAt(await prometheus.ask("/api/v1/alerts"), "data", "alerts");
  const nameOf = (alert: object): string => textAt(alert, "labels", "alertname") ?? "";
  const watch: AlertWatch = {
    active: async () => [...new Set((await seen()).map(nameOf))],
    async fired() {
      const query = 'count by (alertname) (last_over_time(ALERTS{alertstate="firing"}[1d]))';
      const answer = await prometheus.ask(`/api/v1/query?query=${encodeURIComponent(query)}`);
      return recordsAt(answer, "data", "result").map((one) => textAt(one, "metric", "alertname") ?? "");
    },
    async seesFault(alert, fault, end) {
      if ((await watch.active()).includes(alert)) throw new Error(`${alert} is active before its fault`);
      const seconds = (since: number): string => ((performance.now() - since) / 1000).toFixed(1);
      const began = performance.now();
      await fault();
      const labels = await watch.fires(alert, 150_000);
      const fired = seconds(began);
      const ended = performance.now();
      await end();
      await watch.clears(alert, 150_000);
      console.log(
        `${alert}: fired ${fired} s after its fault, cleared ${seconds(ended)} s after the end of it`,
      );
      return labels;
    },
    fires: (name, timeoutMs = 60_000) =>
      waitFor(
        `${name} to fire`,
        async () => {
          const found = (await seen()).find((alert) => nameOf(alert) === name && alert["state"] === "firing");
          if (found === undefined) return undefined;
          const labels = Object.entries(recordAt(found, "labels"));
          return Object.fromEntries(labels.map(([label, value]) => [label, String(value)]));
        },
        { timeoutMs },
      ),
    clears: async (name, timeoutMs = 60_000) => {
      const isGone = async (): Promise<boolean> => !(await seen()).some((alert) => nameOf(alert) === name);
      await waitFor(`${name} to clear`, isGone, { timeoutMs });
    },
    settles: async () => {
      await waitFor("Prometheus to scrape and judge everything", async () => {
        const targets = recordsAt(await prometheus.ask("/api/v1/targets"), "data", "activeTargets");
        const rules = recordsAt(await prometheus.ask("/api/v1/rules"), "data", "groups").flatMap((group) =>
          recordsAt(group, "rules"),
        );
        const isFilled = targets.length > 0 && rules.length > 0;
        return (
          isFilled &&
          targets.every(({ health }) => health === "up") &&
          rules.every(({ health }) => health === "ok")
        );
      });
    },
    query: async (expression) => {
      const answer = await prometheus.ask(`/api/v1/query?query=${encodeURIComponent(expression)}`);
      const result = recordsAt(answer, "data", "result");
      return result.map(({ value }) => Number(Array.isArray(value) ? value[1] : Number.NaN));
    },
    lines: async (query) => {
      const end = Date.now() / 1000;
      const range = { query, start: String(end - 300), end: String(end), step: "2" };
      const answer = await prometheus.ask(`/api/v1/query_range?${new URLSearchParams(range).toString()}`);
      return recordsAt(answer, "data", "result").map(({ metric, values }) => ({
        labels: Object.fromEntries(
          Object.entries(recordAt(metric)).map(([label, value]) => [label, String(value)]),
        ),
        points: (Array.isArray(values) ? values : []).map(
          ([moment, value]: readonly unknown[]) => [Number(moment), Number(value)] as const,
        ),
      }));
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
  return watch;
}

async function documentedGroups(): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const page = await readFile(join(import.meta.dirname, "../../../docs/monitoring.md"), "utf8");
  const [, block = ""] = /^```yaml\n([^]*?)^```$/m.exec(page) ?? [];
  const groups = recordsAt(parseYaml(block), "groups");
  if (groups.length === 0) throw new Error("docs/monitoring.md has no groups of rules");
  return groups;
}

function fasterRules(group: object, fasterBy: number): readonly object[] {
  const units: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 };
  const seconds = (count: string, unit = "m"): number =>
    Math.ceil((Number(count) * (units[unit] ?? 60)) / fasterBy);
  return recordsAt(group, "rules").map((rule) => ({
    ...rule,
    ...(textAt(rule, "for") === undefined
      ? {}
      : { for: `${seconds((textAt(rule, "for") ?? "").replace(/m$/, ""))}s` }),
    expr: (textAt(rule, "expr") ?? "")
      .replaceAll(/\[(\d+)([mhd])\]/g, (_, count: string, unit: string) => `[${seconds(count, unit)}s]`)
      .replace(
        /^(max by \(name\) \(workqueue_longest_running.*|histogram_quantile\(.*) > (\d+)$/,
        (_, left: string, limit: string) => `${left} > ${Number(limit) / fasterBy}`,
      ),
  }));
}
