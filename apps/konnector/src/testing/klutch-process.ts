/** The command line `klutch` as a process, against the app cluster of a fixture. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TenantFixture } from "./tenant-fixture.ts";

/** Runs `klutch` with the app cluster's kubeconfig; resolves to its exit code and all that it printed. */
export type Klutch = (
  ...args: readonly string[]
) => Promise<{ readonly code: number; readonly text: string }>;

/** Prepares it in a folder that goes with the file's tests. */
export async function klutchProcess({
  consumer,
  cleanup,
}: Pick<TenantFixture, "consumer" | "cleanup">): Promise<Klutch> {
  const folder = await mkdtemp(join(tmpdir(), "klutch-process-"));
  cleanup.defer(() => rm(folder, { recursive: true }));
  // The program takes its name from the path that it was started with.
  await symlink(resolve(import.meta.dirname, "../../../cli/src/main.ts"), join(folder, "klutch"));
  await writeFile(join(folder, "kubeconfig"), consumer.kubeconfig, { mode: 0o600 });
  const env = { KUBECONFIG: join(folder, "kubeconfig") };
  return (...args) =>
    new Promise((done) => {
      const child = execFile(process.execPath, [join(folder, "klutch"), ...args], { env }, (_, out, err) =>
        done({ code: child.exitCode ?? -1, text: `${out}${err}` }),
      );
    });
}
