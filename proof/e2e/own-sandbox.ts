/** A sandbox for one test file or run: in a temporary folder of its own, used once it is up, and gone afterwards. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheFolder } from "@klutch/engines";
import { createKubeClient, type KubeClient, type KubeClientOptions, loadKubeconfig } from "@klutch/kube";
import { waitFor } from "@klutch/kube-testing";
import { bindApi } from "@klutch/launcher";
import {
  backendUrlIn,
  cliFilesIn,
  removeDataOf,
  type RunningSandbox,
  startSandbox,
} from "./sandbox-process.ts";

/** Disposing it ends the sandbox and removes everything that it made. */
export interface OwnSandbox extends AsyncDisposable {
  /** Folder that is removed with the sandbox, with everything that a test puts into it. It is also the home of the user. */
  readonly root: string;
  /** Kubeconfigs, logs and state of the sandbox. */
  readonly folder: string;
  readonly pid: number;
  /** Returns everything that it has printed so far, including errors. */
  readonly printed: () => string;
  /** A client of the cluster's administrator, which ends with the sandbox. */
  client(cluster: "control-plane" | "app-a" | "app-b", options?: KubeClientOptions): Promise<KubeClient>;
  /** Binds APIs of these resources, of which some are called with their group, to app cluster A, as a person does, one after the other; once each. */
  bind(...plurals: readonly string[]): Promise<void>;
}

const upWithinMs = 300_000;

/** Starts it without the demo, with further flags; `name` is for its folder. Throws with its output when it does not come up. */
export async function startOwnSandbox(name: string, ...flags: readonly string[]): Promise<OwnSandbox> {
  await using stack = new AsyncDisposableStack();
  const root = await mkdtemp(join(tmpdir(), `klutch-${name}-`));
  stack.defer(() => rm(root, { recursive: true, force: true }));
  const folder = join(root, "sandbox");
  stack.defer(() => removeDataOf(folder));
  const env = { ...process.env, HOME: root, KLUTCH_STATE_DIR: folder, KLUTCH_CACHE_DIR: cacheFolder };
  const sandbox = startSandbox({ env, args: ["--no-demo", ...flags] });
  stack.defer(async () => {
    sandbox.child.kill("SIGINT");
    await sandbox.exited;
  });
  await untilUp(sandbox);
  const bound = new Set<string>();
  let binding: Promise<unknown> = Promise.resolve();
  const owned = stack.move();
  return {
    root,
    folder,
    pid: sandbox.child.pid ?? 0,
    printed: sandbox.printed,
    async client(cluster, options) {
      const path = join(folder, `${cluster}.kubeconfig`);
      return owned.use(createKubeClient(await loadKubeconfig({ path }), options));
    },
    bind(...plurals) {
      const bindAll = async (): Promise<void> => {
        const backendUrl = backendUrlIn(sandbox.printed());
        for (const plural of plurals.filter((one) => !bound.has(one))) {
          await bindApi(cliFilesIn(folder), backendUrl, plural, () => undefined);
          bound.add(plural);
        }
      };
      const done = binding.then(bindAll);
      binding = done.catch(() => undefined);
      return done;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function untilUp({ child, printed }: RunningSandbox): Promise<void> {
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const isUp = (): boolean => printed().includes("Klutch is up.");
  await waitFor("the sandbox to be up", () => hasEnded() || isUp(), { timeoutMs: upWithinMs }).catch(
    (cause: unknown) => {
      throw new Error(printed(), { cause });
    },
  );
  if (!isUp()) throw new Error(`the sandbox ended before it was up:\n${printed()}`);
}
