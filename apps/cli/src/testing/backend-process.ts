/** The real backend as a process of its own, at a provider cluster whose tenants were made by hand: nobody logs in there. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestCluster, waitFor } from "@klutch/kube-testing";

/** Starts it; disposing ends it. */
export async function startBackendProcess(provider: TestCluster): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "klutch-backend-"));
  stack.defer(() => rm(folder, { recursive: true }));
  const kubeconfig = join(folder, "provider");
  await writeFile(kubeconfig, provider.kubeconfig);
  const port = await freePort();
  const main = join(import.meta.dirname, "..", "..", "..", "backend", "src", "main.ts");
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    `--external-address=${provider.url}`,
    "--oidc-issuer-url=http://127.0.0.1:1",
    "--oidc-issuer-client-id=x",
    "--oidc-issuer-client-secret=x",
    `--oidc-callback-url=http://127.0.0.1:${port}/callback`,
    `--cookie-signing-key=${Buffer.alloc(32, 9).toString("base64")}`,
    `--listen-address=127.0.0.1:${port}`,
    "--probe-port=0",
    "--lease-namespace=default",
  ];
  const child = spawn(process.execPath, [main, ...flags], { stdio: ["ignore", "ignore", "inherit"] });
  stack.defer(async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  await waitFor("the backend", () => fetch(`http://127.0.0.1:${port}/export`), { timeoutMs: 30_000 });
  const owned = stack.move();
  return { [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
