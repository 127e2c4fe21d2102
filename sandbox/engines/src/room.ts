/** How much room builds need, by `du` after builds from nothing, and some more. */
import type { EngineDefinition, EngineName } from "./catalog.ts";
import type { PlannedFolder } from "./disk.ts";

interface Room {
  readonly buildCache: number;
  readonly moduleCache: number;
  readonly programs: number;
}

const none: Room = { buildCache: 0, moduleCache: 0, programs: 0 };
/** MiB of everything that the sandbox runs; the builds share most of it. The modules that are not named need next to nothing. */
const ofSandbox: Room = { buildCache: 4_900, moduleCache: 2_700, programs: 550 };
/** MiB that a build of what only tests or real nodes run adds, whatever is there. */
const ofOthers: Readonly<Partial<Record<EngineName, Room>>> = {
  judges: { buildCache: 1_000, moduleCache: 1_000, programs: 80 },
  "provider-kubernetes": { buildCache: 800, moduleCache: 600, programs: 120 },
  helm: { buildCache: 1_200, moduleCache: 500, programs: 70 },
  kubelet: { buildCache: 700, moduleCache: 100, programs: 90 },
  "kube-proxy": { buildCache: 100, moduleCache: 10, programs: 80 },
  "kube-scheduler": { buildCache: 100, moduleCache: 10, programs: 80 },
  coredns: { buildCache: 500, moduleCache: 300, programs: 60 },
};

/** What the folders have to have room for before these are built. Empty when it is not worth a question. */
export function roomFor(
  engines: readonly EngineDefinition[],
  folders: Readonly<Record<keyof Room, string>>,
): readonly PlannedFolder[] {
  const modules = new Set(engines.map(({ module }) => module));
  const shared = modules.has("kubernetes") || modules.has("crossplane") ? ofSandbox : none;
  const added = engines.flatMap(({ name }) => ofOthers[name] ?? []);
  if (shared === none && added.length === 0) return [];
  const planned = (name: keyof Room): PlannedFolder => ({
    folder: folders[name],
    sizeMiB: shared[name],
    moreMiB: added.reduce((sum, room) => sum + room[name], 0),
  });
  return [planned("buildCache"), planned("moduleCache"), planned("programs")];
}
