/** What a developer does in app cluster A, with the tools and rights that they have. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ResourceType } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import pg from "pg";
import type { CliFiles } from "../cli-files.ts";
import type { SandboxContext } from "../context.ts";
import { demoNamespace } from "./claims.ts";

const run = promisify(execFile);

/** Kinds of claims that are bound. */
export const claimed: Readonly<Record<"instances" | "bindings" | "backups" | "restores", ResourceType>> = {
  instances: claim("PostgresqlInstance", "postgresqlinstances"),
  bindings: claim("ServiceBinding", "servicebindings"),
  backups: claim("Backup", "backups"),
  restores: claim("Restore", "restores"),
};

function claim(kind: string, plural: string): ResourceType {
  return { group: "anynines.com", version: "v1", plural, kind, namespaced: true };
}

/** Where they work. */
export interface Workplace {
  readonly context: SandboxContext;
  readonly cli: CliFiles;
}

/** By key of the Secret. */
export type Credentials = Readonly<Record<string, string>>;

/** Applies files of the sandbox's folder, one after the other. */
export async function applyFiles({ context, cli }: Workplace, ...names: readonly string[]): Promise<void> {
  for (const name of names) {
    const path = join(context.state.folder, name);
    // The binding before has just made the kinds; discovery may lag for a moment.
    const apply = (): Promise<string> => kubectl(cli, "apply", "-f", path);
    context.progress.say(await waitFor(`kubectl apply -f ${name}`, apply, { timeoutMs: 60_000 }));
  }
}

/** Deletes a claim, and returns when it is gone. */
export async function deleteClaim(
  { context, cli }: Workplace,
  { plural, group }: ResourceType,
  name: string,
): Promise<void> {
  const args = [`${plural}.${group}`, name, "-n", demoNamespace, "--timeout=120s"];
  context.progress.say(await kubectl(cli, "delete", ...args));
}

async function kubectl(cli: CliFiles, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run(join(cli.bin, "kubectl"), ["--kubeconfig", cli.kubeconfigs.appA, ...args]);
  return stdout.trim();
}

/** Lets `work` use the database with these credentials. */
export async function withDatabase<T>(
  { host, port, name, username, password }: Credentials,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ host, port: Number(port), database: name, user: username, password });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
