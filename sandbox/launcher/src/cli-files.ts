/** Writes the files for users of the sandbox: commands in one folder to put on PATH, a kubeconfig for each cluster, claims to apply. */
import { chmod, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ownProgram, resolveEngine } from "@klutch/engines";
import { demoFiles } from "./demo/claims.ts";

/** Paths of these files. */
export interface CliFiles {
  readonly bin: string;
  readonly kubeconfigs: { readonly controlPlane: string; readonly appA: string; readonly appB: string };
}

/** Whose files they are. */
export interface CliClusters {
  readonly state: { readonly folder: string };
  readonly clusters: Readonly<Record<keyof CliFiles["kubeconfigs"], { readonly kubeconfig: string }>>;
}

/** Writes them into the state's folder, and kubectl into `bin`. */
export async function writeCliFiles(context: CliClusters, bin: string): Promise<CliFiles> {
  const { folder } = context.state;
  await mkdir(bin, { recursive: true });
  await rm(join(bin, "kubectl"), { force: true });
  await symlink(await resolveEngine("kubectl"), join(bin, "kubectl"));
  for (const [name, text] of Object.entries(demoFiles)) await writeFile(join(folder, name), text);
  const write = async (name: string, text: string): Promise<string> => {
    const path = join(folder, `${name}.kubeconfig`);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  };
  const { controlPlane, appA, appB } = context.clusters;
  return {
    bin,
    kubeconfigs: {
      controlPlane: await write("control-plane", controlPlane.kubeconfig),
      appA: await write("app-a", appA.kubeconfig),
      appB: await write("app-b", appB.kubeconfig),
    },
  };
}

/** Writes `kubectl-bind` and `klutch` into `bin`, as they stand in this checkout. */
export async function writeOwnCommands(folder: string, bin: string): Promise<void> {
  const cli = ownProgram("cli");
  // The program tells its two names apart by the path it was started with.
  const links = join(folder, "cli");
  await mkdir(links, { recursive: true });
  for (const name of ["kubectl-bind", "klutch"]) {
    await rm(join(links, name), { force: true });
    await symlink(cli, join(links, name));
    const path = join(bin, name);
    await writeFile(path, `#!/bin/sh\nexec "${process.execPath}" "${join(links, name)}" "$@"\n`);
    await chmod(path, 0o755);
  }
}
