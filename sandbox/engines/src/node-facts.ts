/** What this machine is, as far as real nodes depend on it. Reading changes nothing: what is tried ends with the namespaces it is tried in. */
import { constants } from "node:fs";
import { access, mkdir, mkdtemp, rm, statfs } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { inheritedEnvironment } from "./environment.ts";
import { type KernelFeatures, readKernelFeatures } from "./node-kernel.ts";
import { type NodeTrial, runTrial } from "./node-trial.ts";
import { exists } from "./paths.ts";

/** Facts about a machine. What could not be asked is undefined, and counts as no obstacle. */
export interface NodeFacts {
  /** As Node.js calls it: `linux`. */
  readonly platform: string;
  readonly uid: number | undefined;
  /** Programs of every Linux that are not on the path. */
  readonly missingPrograms: readonly string[];
  /** Whether the kernel's log can be read. */
  readonly readsKernelLog: boolean;
  readonly kernel: KernelFeatures;
  /** What only root can try. */
  readonly trial: NodeTrial | undefined;
  /** Where the nodes' images and data would be. */
  readonly folder: string;
  readonly freeDiskMiB: number;
  readonly freeMemoryMiB: number;
}

/** Options of `readNodeFacts`. */
export interface NodeFactsOptions {
  /** Where the nodes' images and data will be; made if it is not there. */
  readonly folder: string;
  /** For what is run. Default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

const mib = 1024 * 1024;
const neededPrograms = ["unshare", "nsenter", "mount", "umount"];

/** Asks the machine; takes well below a second. Throws when the folder cannot be made. */
export async function readNodeFacts(options: NodeFactsOptions): Promise<NodeFacts> {
  const { env = inheritedEnvironment, signal } = options;
  const folder = resolve(options.folder);
  await mkdir(folder, { recursive: true });
  const missingPrograms = await missingOn(env["PATH"] ?? "");
  const uid = process.getuid?.();
  const canTry = process.platform === "linux" && uid === 0 && missingPrograms.length === 0;
  const { bavail, bsize } = await statfs(folder);
  return {
    platform: process.platform,
    uid,
    missingPrograms,
    readsKernelLog: await canRead("/dev/kmsg"),
    kernel: await readKernelFeatures("/"),
    trial: canTry ? await triedIn(folder, { env, signal }) : undefined,
    folder,
    freeDiskMiB: Math.floor((bavail * bsize) / mib),
    freeMemoryMiB: Math.floor(process.availableMemory() / mib),
  };
}

async function triedIn(
  folder: string,
  options: Pick<NodeFactsOptions, "env" | "signal">,
): Promise<NodeTrial> {
  const place = await mkdtemp(join(folder, ".klutch-trial-"));
  try {
    return await runTrial(place, options);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

async function missingOn(path: string): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const name of neededPrograms) {
    const found = await Promise.all(path.split(delimiter).map((folder) => exists(join(folder, name))));
    if (!found.includes(true)) missing.push(name);
  }
  return missing;
}

async function canRead(path: string): Promise<boolean> {
  return access(path, constants.R_OK).then(
    () => true,
    () => false,
  );
}
