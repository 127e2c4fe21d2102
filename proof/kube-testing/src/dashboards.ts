/** Asks a real Prometheus each query of the dashboards that the charts ship: a panel without data is a fault. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseYaml } from "@klutch/kube";
import { recordsAt, textAt } from "@klutch/kube-core";
import type { AlertWatch } from "./alert-watch.ts";
import { documentedMetrics } from "./metric-names.ts";
import { waitFor } from "./wait-for.ts";

/** One query of a panel. */
export interface ShippedPanel {
  readonly title: string;
  readonly expression: string;
}

const files = {
  "control-plane": "klutch/dashboards/control-plane.json",
  "app-cluster": "klutch-konnector/dashboards/app-cluster.json",
} as const;

/** Name of a dashboard, as its file. */
export type DashboardName = keyof typeof files;

/** A rate needs two scrapes, and a test waits for seconds only. */
const window = "60s";

/** Reads a dashboard as its chart ships it, with windows of rates that suit a test. */
export async function readDashboard(name: DashboardName): Promise<unknown> {
  const file = join(import.meta.dirname, "../../../deploy/charts", files[name]);
  return parseYaml((await readFile(file, "utf8")).replaceAll("$__rate_interval", window));
}

/** Returns the queries of a dashboard that ask for metrics of these programs. Every process has those of the process. */
export async function panelsOf(
  dashboard: DashboardName,
  programs: readonly string[],
): Promise<readonly ShippedPanel[]> {
  const own = new Set(programs.flatMap((program) => documentedMetrics(program)));
  const panels = recordsAt(await readDashboard(dashboard), "panels");
  return panels.flatMap((panel) =>
    recordsAt(panel, "targets").flatMap((target) => {
      const expression = textAt(target, "expr") ?? "";
      const names = expression.match(/\b(?:klutch|crossplane|controller|workqueue|leader|rest)_\w+/g) ?? [];
      const isOwn = names.every((name) => own.has(name.replace(/_bucket$/, "")));
      return isOwn ? [{ title: textAt(panel, "title") ?? "", expression }] : [];
    }),
  );
}

/** Waits until each query has a number. Rejects with the titles of those that have none. */
export async function untilFilled(
  watch: AlertWatch,
  panels: readonly ShippedPanel[],
  timeoutMs = 120_000,
): Promise<void> {
  let empty = panels;
  await waitFor(
    "each panel to have data",
    async () => {
      const still: ShippedPanel[] = [];
      // One that had data once is filled: a fault may be over.
      for (const panel of empty)
        if (!(await watch.query(panel.expression)).some((value) => Number.isFinite(value))) still.push(panel);
      empty = still;
      return empty.length === 0 ? true : undefined;
    },
    { timeoutMs },
  ).catch((error: unknown) => {
    const words = empty.map(({ title, expression }) => `${title}: ${expression}`).join("\n");
    throw new Error(`panels without data:\n${words}`, { cause: error });
  });
}
