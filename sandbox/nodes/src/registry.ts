/** A registry on this machine that nodes and their Pods reach. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reservePorts, resolveEngine, startProcess } from "@klutch/engines";
import type { NodeNetwork } from "./network.ts";

/** A registry that runs, without TLS and without passwords. Disposing ends it and removes what was pushed. */
export interface NodeRegistry extends AsyncDisposable {
  /** First part of the images' names: `10.213.0.1:20000`. Of RFC 1918, so that Crossplane's package manager speaks HTTP to it. */
  readonly host: string;
  /** `http://` and the host. */
  readonly url: string;
}

/** Starts one on the network's own address. It is for nodes of that network; nothing else routes there. */
export async function startNodeRegistry({ addresses }: NodeNetwork): Promise<NodeRegistry> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "klutch-node-registry-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const { ports } = stack.use(await reservePorts(1));
  const host = `${addresses.host}:${ports[0]}`;
  const url = `http://${host}`;
  stack.use(
    await startProcess({
      name: "registry",
      command: await resolveEngine("crane"),
      args: ["registry", "serve", "--address", host, "--disk", folder],
      logFile: join(folder, "registry.log"),
      ready: async () => (await fetch(`${url}/v2/`)).ok,
    }),
  );
  const owned = stack.move();
  return { host, url, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
