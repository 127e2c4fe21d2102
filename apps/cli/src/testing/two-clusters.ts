/** An app cluster and a control plane with nothing of Klutch in them, and a folder for the files of a test. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chosenKubernetes, leaseCluster, startCluster, type TestCluster } from "@klutch/kube-testing";

/** Both, until disposed. */
export interface TwoClusters extends AsyncDisposable {
  readonly consumer: TestCluster;
  readonly provider: TestCluster;
  /** Returns the path of a file in the folder, existing or not. */
  readonly path: (name: string) => string;
  /** Writes a file of the folder; gives back its path. */
  readonly write: (name: string, text: string) => Promise<string>;
}

/** Starts both. `deletesNamespaces`: an app cluster of its own, in which a deleted namespace goes with its content. */
export async function startTwoClusters(
  options: { readonly deletesNamespaces?: boolean } = {},
): Promise<TwoClusters> {
  await using stack = new AsyncDisposableStack();
  const [consumer, provider] = await Promise.all([
    options.deletesNamespaces === true
      ? startCluster({ controllerManager: true, kubernetes: chosenKubernetes().appCluster })
      : leaseCluster({ appCluster: true }),
    leaseCluster(),
  ]);
  stack.use(consumer);
  stack.use(provider);
  const folder = await mkdtemp(join(tmpdir(), "klutch-cli-"));
  stack.defer(() => rm(folder, { recursive: true }));
  const path = (name: string): string => join(folder, name);
  const owned = stack.move();
  return {
    consumer,
    provider,
    path,
    async write(name, text) {
      await writeFile(path(name), text);
      return path(name);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
