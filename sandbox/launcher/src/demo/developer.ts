/** Plays a developer in app cluster A, with the tools and rights that they have. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { type DynamicObject, recordAt, type ResourceType, secrets } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { claimResource } from "@klutch/services";
import type { CliFiles } from "../cli-files.ts";
import type { DemoContext } from "../context.ts";
import { waitForConditions } from "../objects.ts";
import type { Progress } from "../progress.ts";
import type { Credentials } from "./applications/application.ts";
import { demoNamespace } from "./claims.ts";

const run = promisify(execFile);

/** Kinds of claims that all data services share. */
export const shared: Readonly<Record<"bindings" | "backups" | "restores", ResourceType>> = {
  bindings: claimResource("ServiceBinding"),
  backups: claimResource("Backup"),
  restores: claimResource("Restore"),
};

/** Workplace of the developer. */
export interface Workplace {
  readonly context: DemoContext;
  readonly cli: CliFiles;
  readonly progress: Progress;
}

/** Applies files of the sandbox's folder, one after the other. */
export async function applyFiles(
  { context, cli, progress }: Workplace,
  ...names: readonly string[]
): Promise<void> {
  for (const name of names) {
    const path = join(context.state.folder, name);
    // The binding before has just made the kinds; discovery may lag for a moment.
    const apply = (): Promise<string> => kubectl(cli, "apply", "-f", path);
    progress.say(await waitFor(`kubectl apply -f ${name}`, apply, { timeoutMs: 60_000 }));
  }
}

/** Waits until the claim says that it is ready. */
export async function claimReady({ context }: Workplace, type: ResourceType, name: string): Promise<void> {
  await waitForConditions(context.clusters.appA.client, type, { namespace: demoNamespace, name }, ["Ready"]);
}

/** Deletes a claim, and returns when it is gone. */
export async function deleteClaim(
  { cli, progress }: Workplace,
  { plural, group }: ResourceType,
  name: string,
): Promise<void> {
  const args = [`${plural}.${group}`, name, "-n", demoNamespace, "--timeout=120s"];
  progress.say(await kubectl(cli, "delete", ...args));
}

async function kubectl(cli: CliFiles, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run(join(cli.bin, "kubectl"), ["--kubeconfig", cli.kubeconfigs.appA, ...args]);
  return stdout.trim();
}

/** Reads the Secret of a binding. */
export async function readCredentials(
  { context, progress }: Workplace,
  binding: string,
): Promise<Credentials> {
  const ref = secretOf(binding);
  const { client } = context.clusters.appA;
  const secret = await waitFor(`Secret ${ref.name}`, () => client.find<DynamicObject>(secrets, ref));
  const data = recordAt(secret, "data");
  progress.say(`Secret ${ref.name} has the keys ${Object.keys(data).toSorted().join(", ")}`);
  const decode = (value: unknown): string => Buffer.from(String(value), "base64").toString("utf8");
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, decode(value)]));
}

/** Returns the reference of a binding's Secret. */
export function secretOf(binding: string): { readonly namespace: string; readonly name: string } {
  return { namespace: demoNamespace, name: `${binding}-creds` };
}
