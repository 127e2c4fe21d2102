/** Writes the files for users of the sandbox: commands in one folder to put on PATH, a kubeconfig for each cluster, claims to apply. */
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ownProgram, resolveEngine } from "@klutch/engines";
import type { ClusterName } from "./context.ts";
import { demoFiles } from "./demo/claims.ts";

/** Paths of these files. */
export interface CliFiles {
  readonly bin: string;
  readonly kubeconfigs: Readonly<Record<ClusterName, string>>;
}

/** Writes them into `folder`, and kubectl into `bin`. */
export async function writeCliFiles(
  folder: string,
  clusters: Readonly<Record<ClusterName, { readonly kubeconfig: string }>>,
  bin: string,
): Promise<CliFiles> {
  await mkdir(bin, { recursive: true });
  await link(await resolveEngine("kubectl"), join(bin, "kubectl"));
  for (const [name, text] of Object.entries(demoFiles)) await writeFile(join(folder, name), text);
  const write = async (name: string, { kubeconfig }: { readonly kubeconfig: string }): Promise<string> => {
    const path = join(folder, `${name}.kubeconfig`);
    await writeFile(path, kubeconfig, { mode: 0o600 });
    return path;
  };
  const kubeconfigs = {
    controlPlane: await write("control-plane", clusters.controlPlane),
    appA: await write("app-a", clusters.appA),
    appB: await write("app-b", clusters.appB),
  };
  return { bin, kubeconfigs };
}

/** Writes `kubectl-bind` and `klutch` of this checkout into `bin`. */
export async function writeOwnCommands(folder: string, bin: string): Promise<void> {
  // The program tells its two names apart by the path it was started with.
  const links = join(folder, "cli");
  await mkdir(links, { recursive: true });
  for (const name of ["kubectl-bind", "klutch"]) {
    await link(ownProgram("cli"), join(links, name));
    const script = `#!/bin/sh\nexec "${process.execPath}" "${join(links, name)}" "$@"\n`;
    await writeFile(join(bin, name), script, { mode: 0o755 });
  }
}

async function link(target: string, path: string): Promise<void> {
  await rm(path, { force: true });
  await symlink(target, path);
}
