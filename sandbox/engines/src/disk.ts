/** Checks that the disks have room for a build, before it starts. */
import { mkdir, stat } from "node:fs/promises";
import type { Engine, EngineName } from "./catalog.ts";
import { EngineError, freeMiBOf, run, textOf } from "./environment.ts";

/** Size of the folders that a build fills, in MiB: those of the Go command and the cache of programs. */
type Room = Readonly<Record<"buildCache" | "moduleCache" | "programs", number>>;

const none: Room = { buildCache: 0, moduleCache: 0, programs: 0 };
/** Everything that the sandbox runs, by `du` after builds from nothing, and some more; the builds share most of it. Other modules are small. */
const ofSandbox: Room = { buildCache: 4_900, moduleCache: 2_700, programs: 550 };
/** Added by the build of what only tests or real nodes run, whatever is there. */
const ofOthers: Readonly<Partial<Record<EngineName, Room>>> = {
  judges: { buildCache: 1_000, moduleCache: 1_000, programs: 80 },
  "provider-kubernetes": { buildCache: 800, moduleCache: 600, programs: 120 },
  "provider-nop": { buildCache: 700, moduleCache: 300, programs: 60 },
  "cert-manager": { buildCache: 900, moduleCache: 700, programs: 70 },
  "s3-controller": { buildCache: 900, moduleCache: 700, programs: 70 },
  "cloud-service-broker": { buildCache: 500, moduleCache: 700, programs: 50 },
  opentofu: { buildCache: 900, moduleCache: 1_200, programs: 90 },
  helm: { buildCache: 1_200, moduleCache: 500, programs: 70 },
  kubelet: { buildCache: 700, moduleCache: 100, programs: 90 },
  "kube-proxy": { buildCache: 100, moduleCache: 10, programs: 80 },
  "kube-scheduler": { buildCache: 100, moduleCache: 10, programs: 80 },
  versitygw: { buildCache: 400, moduleCache: 400, programs: 50 },
  coredns: { buildCache: 500, moduleCache: 300, programs: 60 },
};

/** Added by the build of each server of another version of Kubernetes, which share most of the build. */
const ofOtherVersion: Room = { buildCache: 900, moduleCache: 450, programs: 120 };

/** A folder and what it will hold in the end. */
export interface PlannedFolder {
  readonly folder: string;
  readonly sizeMiB: number;
  /** Additional size, regardless of the present contents. */
  readonly moreMiB: number;
}

/** Returns what the folders will hold when these are built; nothing when it is not worth a question. */
export function roomFor(engines: readonly Engine[], folders: Record<keyof Room, string>): PlannedFolder[] {
  const isShared = engines.some(({ module }) => module === "kubernetes" || module === "crossplane");
  const shared = isShared ? ofSandbox : none;
  const others = engines.filter(({ module }) => module.startsWith("kubernetes-"));
  const added = [...engines.flatMap(({ name }) => ofOthers[name] ?? []), ...others.map(() => ofOtherVersion)];
  if (!isShared && added.length === 0) return [];
  return (["buildCache", "moduleCache", "programs"] as const).map((name) => ({
    folder: folders[name],
    sizeMiB: shared[name],
    moreMiB: added.reduce((sum, room) => sum + room[name], 0),
  }));
}

/**
 * Throws `EngineError` DiskFull when the folders cannot grow to their planned sizes: what they hold already counts, and folders of one
 * file system share its room.
 */
export async function requireDiskSpace(planned: readonly PlannedFolder[]): Promise<void> {
  const needs = await Promise.all(planned.map(needOf));
  for (const sharing of Map.groupBy(needs, ({ device }) => device).values()) {
    const needed = sharing.reduce((sum, { missingMiB }) => sum + missingMiB, 0);
    const free = Math.min(...sharing.map(({ freeMiB }) => freeMiB));
    if (needed <= free) continue;
    const folders = sharing.map(({ folder }) => folder).join(", ");
    throw new EngineError(
      "DiskFull",
      `building the servers needs ${gib(needed)} more on the disk of ${folders}, which has ${gib(free)} free; make room, or move the folders (GOCACHE, GOMODCACHE, KLUTCH_CACHE_DIR)`,
    );
  }
}

async function needOf({ folder, sizeMiB, moreMiB }: PlannedFolder) {
  await mkdir(folder, { recursive: true });
  // Counting goes on where a file vanishes or is closed to us, and then says so in its exit code.
  const { stdout } = await run("du", ["-sk", folder]).catch((error: unknown) => ({
    stdout: textOf(error, "stdout"),
  }));
  const usedMiB = (Number.parseInt(stdout, 10) || 0) / 1024;
  const missingMiB = Math.max(0, sizeMiB - usedMiB) + moreMiB;
  return { folder, device: (await stat(folder)).dev, freeMiB: await freeMiBOf(folder), missingMiB };
}

function gib(sizeMiB: number): string {
  return `${(sizeMiB / 1024).toFixed(1)} GiB`;
}
