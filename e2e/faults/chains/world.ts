/** A sandbox as `npm run sandbox` starts it: real Crossplane, function, provider, broker and PostgreSQL, each a process. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheFolder, logTail } from "@klutch/engines";
import { createKubeClient, type KubeClient, loadKubeconfig } from "@klutch/kube";
import { isRecord, namespaces, numberAt, textAt } from "@klutch/kube-core";
import { namespaceObject, waitFor } from "@klutch/kube-testing";
import { removeDataOf, startSandbox } from "../../sandbox-process.ts";
import { Killer } from "./killer.ts";
import { Ledger } from "./ledger.ts";
import type { Program } from "./plan.ts";

/** Namespace of the claims. */
export const claimNamespace = "chains";

/** What the chains share. */
export interface World extends AsyncDisposable {
  /** Of the control plane. */
  readonly client: KubeClient;
  readonly killer: Killer;
  readonly ledger: Ledger;
  /** The end of the program's log. */
  log(program: Program): string;
}

const logFiles: Readonly<Record<Program, string>> = {
  "provider-anynines": "provider/provider.log",
  "function-klutch": "function.log",
  broker: "broker.log",
};

/** Starts everything in a temporary folder. */
export async function startWorld(): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const root = await mkdtemp(join(tmpdir(), "klutch-chains-"));
  stack.defer(() => rm(root, { recursive: true, force: true }));
  const folder = join(root, "sandbox");
  stack.defer(() => removeDataOf(folder));
  const env = { ...process.env, HOME: root, KLUTCH_STATE_DIR: folder, KLUTCH_CACHE_DIR: cacheFolder };
  const sandbox = startSandbox({ env, args: ["--no-demo"] });
  stack.defer(async () => {
    sandbox.child.kill("SIGINT");
    await sandbox.exited;
  });
  const isUp = (): boolean => sandbox.printed().includes("Klutch is up.");
  await waitFor("the sandbox to be up", isUp, { timeoutMs: 240_000 }).catch((cause: unknown) => {
    throw new Error(sandbox.printed(), { cause });
  });
  const kubeconfig = await loadKubeconfig({ path: join(folder, "control-plane.kubeconfig") });
  const client = stack.use(createKubeClient(kubeconfig, { flowControl: false }));
  await client.create(namespaces, namespaceObject(claimNamespace));
  const ledger = stack.use(
    await Ledger.open({
      postgresUrl: await postgresUrl(folder),
      backupFolder: join(folder, "backups"),
    }),
  );
  const owned = stack.move();
  return {
    client,
    killer: new Killer(sandbox.child.pid ?? 0),
    ledger,
    log: (program) => logTail(join(folder, logFiles[program]), 30),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function postgresUrl(folder: string): Promise<string> {
  const state: unknown = JSON.parse(await readFile(join(folder, "sandbox.json"), "utf8"));
  const port = isRecord(state) ? numberAt(state, "ports", "postgres") : undefined;
  const password = isRecord(state) ? textAt(state, "secrets", "postgresPassword") : undefined;
  if (port === undefined || password === undefined) throw new Error("the sandbox kept no port or password");
  return `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`;
}
