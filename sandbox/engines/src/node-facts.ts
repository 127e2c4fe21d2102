/** Reads the facts about this machine that real nodes depend on. Changes nothing: trials end with the namespaces they run in. */
import { constants } from "node:fs";
import { access, mkdir, readFile, statfs } from "node:fs/promises";
import { release } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { inheritedEnvironment } from "./environment.ts";
import { runTrial } from "./node-trial.ts";
import { exists } from "./paths.ts";

/** Facts about a machine. What could not be asked is undefined or absent, and counts as no obstacle. */
export interface NodeFacts {
  /** Name of the platform in Node.js: `linux`. */
  readonly platform: string;
  readonly uid: number | undefined;
  /** Programs of every Linux that are not on the path. */
  readonly missingPrograms: readonly string[];
  readonly readsKernelLog: boolean;
  /** Configuration of the kernel: lines such as `CONFIG_VETH=m`. */
  readonly kernelConfig: string | undefined;
  /** Controllers of each cgroup hierarchy of version 1 that this process is in: `cpu,cpuacct`. */
  readonly hierarchies: readonly string[];
  /** Results of the trial (`runTrial`), which only root can run. */
  readonly trial: ReadonlyMap<string, string>;
  /** Folder for the nodes' images and data. */
  readonly folder: string;
  readonly freeDiskMiB: number;
  readonly freeMemoryMiB: number;
}

/** Options of `readNodeFacts`. */
export interface NodeFactsOptions {
  /** Folder for the nodes' images and data; created if missing. */
  readonly folder: string;
  /** Environment of the trial. Default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

const mib = 1024 * 1024;
const neededPrograms = ["unshare", "nsenter", "mount", "umount"];

/** Asks the machine; takes well below a second. Throws when the folder cannot be made. */
export async function readNodeFacts(options: NodeFactsOptions): Promise<NodeFacts> {
  const { env = inheritedEnvironment } = options;
  const folder = resolve(options.folder);
  await mkdir(folder, { recursive: true });
  const missingPrograms = await missingOn(env["PATH"] ?? "");
  const uid = process.getuid?.();
  const cgroups = await readFile("/proc/self/cgroup", "utf8").catch(() => "");
  const hierarchies = [...cgroups.matchAll(/^\d+:([^:=]+):/gm)].map(([, names = ""]) => names);
  const canTry = process.platform === "linux" && uid === 0 && missingPrograms.length === 0;
  const { bavail, bsize } = await statfs(folder);
  return {
    platform: process.platform,
    uid,
    missingPrograms,
    readsKernelLog: await access("/dev/kmsg", constants.R_OK).then(
      () => true,
      () => false,
    ),
    kernelConfig: await readKernelConfig("/"),
    hierarchies,
    trial: canTry ? await runTrial(folder, hierarchies, env) : new Map(),
    folder,
    freeDiskMiB: Math.floor((bavail * bsize) / mib),
    freeMemoryMiB: Math.floor(process.availableMemory() / mib),
  };
}

/** Reads the configuration of the running kernel from where kernels leave it. `root` is `/`, except in tests. */
export async function readKernelConfig(root: string): Promise<string | undefined> {
  const read = (path: string): Promise<Buffer | undefined> =>
    readFile(join(root, path)).catch(() => undefined);
  const packed = await read("proc/config.gz");
  const config =
    (packed === undefined ? undefined : gunzipSync(packed)) ??
    (await read(`boot/config-${release()}`)) ??
    (await read(`lib/modules/${release()}/config`));
  return config?.toString();
}

async function missingOn(path: string): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const name of neededPrograms) {
    const found = await Promise.all(path.split(delimiter).map((folder) => exists(join(folder, name))));
    if (!found.includes(true)) missing.push(name);
  }
  return missing;
}
