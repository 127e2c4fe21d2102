/** The life of an instance as its developer sees it: claim, bind, write, back up, destroy, restore, delete. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { type DynamicObject, recordAt, secrets } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import type { CliFiles } from "../cli-files.ts";
import type { DemoContext } from "../context.ts";
import { waitForConditions } from "../objects.ts";
import type { Progress } from "../progress.ts";
import type { Application, Credentials } from "./applications.ts";
import { type DemoClaim, demoClaim, type DemoType } from "./claims.ts";

const run = promisify(execFile);

/** A service and the application that uses it. */
export interface Chain {
  /** Name for people. */
  readonly title: string;
  readonly type: DemoType;
  readonly application: Application;
  /** Reason for the lack of backups; undefined if they are available. */
  readonly withoutBackups?: string | undefined;
}

/** Workplace of the developer in app cluster A. */
export interface Workplace {
  readonly context: DemoContext;
  readonly cli: CliFiles;
  readonly progress: Progress;
}

const words = "Hello from app cluster A";

/** Lives it; throws when any step does not end as it should. */
export async function liveThrough(chain: Chain, base: Workplace): Promise<void> {
  const { type, application, title } = chain;
  const workplace: Workplace = { ...base, progress: base.progress.beside(title) };
  const { progress } = workplace;
  const [instance, binding] = [demoClaim(type, "instance"), demoClaim(type, "binding")];
  for (const { file } of [instance, binding]) await applyFile(workplace, file);
  await progress.step("both claims are Ready", async () => {
    await untilReady(workplace, instance);
    await untilReady(workplace, binding);
  });
  const credentials = await readCredentials(workplace, binding);
  await useServer(chain, credentials, progress);
  if (chain.withoutBackups === undefined) await backUpAndRestore(chain, workplace, credentials);
  else progress.say(chain.withoutBackups);
  await deleteClaim(workplace, binding);
  await deleteClaim(workplace, instance);
  const isGone = (): Promise<boolean> => application.isGone(credentials);
  await waitFor(`${title} to be gone at the broker`, isGone);
}

/** Throws if the server knows the application by another name than its Secret. */
async function useServer(
  { title, application }: Chain,
  credentials: Credentials,
  progress: Progress,
): Promise<void> {
  const send = (command: readonly string[]): Promise<string> => application.send(credentials, command);
  const { name, command, version } = application.server;
  const user = credentials["username"] ?? credentials["valkey.username"];
  const [who] = (await send(application.whoami)).split("@");
  if (who !== user) throw new Error(`${title} sees ${who}, not ${user}`);
  await send(application.write(words));
  const server = `${name} ${version.exec(await send(command))?.[1]}`;
  progress.say(`${server} took from ${who}: ${await send(application.read)}`);
}

/** Throws if the restored data differ from the original. */
async function backUpAndRestore(
  { type, application }: Chain,
  workplace: Workplace,
  credentials: Credentials,
): Promise<void> {
  const { progress } = workplace;
  const [backup, restore] = [demoClaim(type, "backup"), demoClaim(type, "restore")];
  await applyFile(workplace, backup.file);
  await progress.step("the Backup is Ready", () => untilReady(workplace, backup));
  await application.send(credentials, application.destroy);
  progress.say(application.destroyed);
  await applyFile(workplace, restore.file);
  await progress.step("the Restore is Ready", () => untilReady(workplace, restore));
  const back = await application.send(credentials, application.read);
  if (back !== words) throw new Error(`after the restore there is "${back}", not "${words}"`);
  progress.say(`restored: ${back}`);
  await deleteClaim(workplace, restore);
  await deleteClaim(workplace, backup);
}

/** Applies a file of the sandbox's folder. */
export async function applyFile({ context, cli, progress }: Workplace, name: string): Promise<void> {
  const path = join(context.state.folder, name);
  // The binding before has just made the kinds; discovery may lag for a moment.
  const apply = (): Promise<string> => kubectl(cli, "apply", "-f", path);
  progress.say(await waitFor(`kubectl apply -f ${name}`, apply));
}

async function untilReady({ context }: Workplace, { resource, ref }: DemoClaim): Promise<void> {
  await waitForConditions(context.clusters.appA.client, resource, ref, ["Ready"]);
}

/** Returns when the claim is gone. */
async function deleteClaim({ cli, progress }: Workplace, { resource, ref }: DemoClaim): Promise<void> {
  const args = [`${resource.plural}.${resource.group}`, ref.name, "-n", ref.namespace, "--timeout=120s"];
  progress.say(await kubectl(cli, "delete", ...args));
}

async function kubectl(cli: CliFiles, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run(join(cli.bin, "kubectl"), ["--kubeconfig", cli.kubeconfigs.appA, ...args]);
  return stdout.trim();
}

async function readCredentials({ context, progress }: Workplace, binding: DemoClaim): Promise<Credentials> {
  const ref = secretOf(binding);
  const { client } = context.clusters.appA;
  const secret = await waitFor(`Secret ${ref.name}`, () => client.find<DynamicObject>(secrets, ref));
  const data = recordAt(secret, "data");
  progress.say(`Secret ${ref.name} has the keys ${Object.keys(data).toSorted().join(", ")}`);
  const decode = (value: unknown): string => Buffer.from(String(value), "base64").toString("utf8");
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, decode(value)]));
}

/** Returns the reference of a binding's Secret. */
export function secretOf({ ref }: DemoClaim): DemoClaim["ref"] {
  return { ...ref, name: `${ref.name}-creds` };
}
