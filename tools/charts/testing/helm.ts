/** Runs Helm in tests, with folders of its own. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resolveEngine, run } from "@klutch/engines";
import { parseYamlDocuments } from "@klutch/kube";
import { isRecord, textAt } from "@klutch/kube-core";
import { repositoryRoot } from "../../root.ts";
import { type ChartDefinition, chartsFolder } from "../chart.ts";

/** Helm, until it is disposed of. */
export interface Helm extends AsyncDisposable {
  /** Temporary. */
  readonly folder: string;
  /** Standard output. Rejects with `HelmFailure`. */
  run(...args: readonly string[]): Promise<string>;
  /** The path of a file with these values. */
  values(values: object): Promise<string>;
  /** The objects of a chart; Helm's default namespace is the chart's own. */
  template(chart: string, values?: object, ...args: readonly string[]): Promise<readonly Rendered[]>;
  /** Returns Helm's message when it refuses the values. */
  refusal(chart: string, values: object, ...args: readonly string[]): Promise<string>;
}

/** An object of a rendered chart. */
export type Rendered = Readonly<Record<string, unknown>>;

/** Helm ended with another code than 0. */
export class HelmFailure extends Error {
  readonly code = "Helm";
}

/** Path of a chart. */
export function chartPath(name: ChartDefinition["name"]): string {
  return join(repositoryRoot, chartsFolder, name);
}

/** The object of this kind and name; any name without one. Throws when there is none. */
export function objectOf(objects: readonly Rendered[], kind: string, name?: string): Rendered {
  const found = objects.find(
    (each) => each["kind"] === kind && (name === undefined || textAt(each, "metadata", "name") === name),
  );
  if (found === undefined) throw new Error(`there is no ${kind} ${name ?? ""} among the objects`);
  return found;
}

/** Helm for one test. Without a kubeconfig it reaches no cluster. */
export async function startHelm(kubeconfig = ""): Promise<Helm> {
  const command = await resolveEngine("helm");
  const folder = await mkdtemp(join(tmpdir(), "klutch-helm-"));
  const config = join(folder, "kubeconfig");
  await writeFile(config, kubeconfig, { mode: 0o600 });
  const env = {
    PATH: "/usr/bin:/bin",
    HOME: folder,
    HELM_CACHE_HOME: join(folder, "cache"),
    HELM_CONFIG_HOME: join(folder, "config"),
    HELM_DATA_HOME: join(folder, "data"),
    KUBECONFIG: config,
  };
  let files = 0;
  const helm: Helm = {
    folder,
    async run(...args) {
      try {
        const { stdout } = await run(command, args, { env, cwd: folder, maxBuffer: 64 * 1024 * 1024 });
        return stdout;
      } catch (error) {
        const said = isRecord(error) ? [error["stdout"], error["stderr"]] : [];
        throw new HelmFailure(said.filter((each) => typeof each === "string").join("\n"), { cause: error });
      }
    },
    async values(values) {
      const path = join(folder, `values-${files++}.json`);
      await writeFile(path, JSON.stringify(values));
      return path;
    },
    async template(chart, values = {}, ...args) {
      const text = await helm.run("template", "test", chart, "-f", await helm.values(values), ...args);
      return parseYamlDocuments(text).filter(isRecord);
    },
    async refusal(chart, values, ...args) {
      try {
        await helm.template(chart, values, ...args);
      } catch (error) {
        if (error instanceof HelmFailure) return error.message;
        throw error;
      }
      throw new Error(`Helm takes ${JSON.stringify(values)}`);
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
  return helm;
}
