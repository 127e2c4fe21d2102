/** Prometheus as a process that scrapes servers of a test and judges alerts. Its data is in a folder of the test. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { resolveDebian } from "./debian.ts";
import { reservePorts } from "./ports.ts";
import { startProcess } from "./process.ts";

/** Settings of one Prometheus. */
export interface PrometheusSettings {
  /** Addresses (`host:port`) by the name of their job. */
  readonly jobs: Readonly<Record<string, readonly string[]>>;
  /** Groups of rules, as in a rules file. */
  readonly groups: readonly object[];
  /** Seconds between scrapes, and between evaluations. Default 1. */
  readonly intervalSeconds?: number | undefined;
}

/** An alert that waits or fires. */
export interface SeenAlert {
  readonly state: "pending" | "firing";
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A running Prometheus. */
export interface PrometheusServer extends AsyncDisposable {
  readonly url: string;
  /** Asks one path of its HTTP API. Throws with its words. */
  ask(path: string): Promise<unknown>;
}

/** Starts it with its files in the folder. JSON is YAML, so that is what its files are. */
export async function startPrometheus(
  folder: string,
  settings: PrometheusSettings,
): Promise<PrometheusServer> {
  const { jobs, groups, intervalSeconds = 1 } = settings;
  const interval = `${intervalSeconds}s`;
  const rules = join(folder, "rules.json");
  await writeFile(rules, JSON.stringify({ groups }));
  const file = join(folder, "prometheus.json");
  await writeFile(
    file,
    JSON.stringify({
      global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
      rule_files: [rules],
      scrape_configs: Object.entries(jobs).map(([name, targets]) => ({
        job_name: name,
        static_configs: [{ targets }],
      })),
    }),
  );
  const programs = await resolveDebian("prometheus");
  await using starting = new AsyncDisposableStack();
  const [port] = starting.use(await reservePorts(1)).ports;
  const url = `http://127.0.0.1:${port}`;
  starting.use(
    await startProcess({
      name: "prometheus",
      command: programs.path("prometheus"),
      args: [
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(folder, "data")}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      env: programs.env,
      logFile: join(folder, "prometheus.log"),
      ready: async () => (await fetch(`${url}/-/ready`)).ok,
    }),
  );
  const stack = starting.move();
  return {
    url,
    async ask(path) {
      const response = await fetch(`${url}${path}`);
      if (!response.ok) throw new Error(`Prometheus answers ${response.status}: ${await response.text()}`);
      return response.json();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
