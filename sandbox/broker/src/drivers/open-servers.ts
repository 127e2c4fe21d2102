/** Finds which servers this machine can run, and makes their drivers. */
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { onLoopback, openAuthority, type Reach } from "@klutch/data-servers";
import { dataHome, type DebianName, type DebianPrograms, EngineError, resolveDebian } from "@klutch/engines";
import type { Logger } from "@klutch/telemetry";
import { keyvalueKind } from "./keyvalue.ts";
import { mariadbKind } from "./mariadb.ts";
import { OwnServers, type OwnServersOptions } from "./own-servers.ts";
import type { ServerKind } from "./server-kind.ts";

/** Options of `openServers`. */
export interface OpenServersOptions extends Pick<OwnServersOptions, "secretKey" | "logger" | "diskEveryMs"> {
  /** Holds everything; made if it does not exist. */
  readonly folder: string;
  /** Default: on loopback. */
  readonly reach?: Reach | undefined;
}

const kinds: readonly (readonly [DebianName, (programs: DebianPrograms) => ServerKind])[] = [
  ["mariadb", mariadbKind],
  ["redis", keyvalueKind],
];

/** Finds or fetches the programs. A service whose programs are missing is left out, and the log says which. */
export async function openServers(options: OpenServersOptions): Promise<readonly OwnServers[]> {
  const { logger, reach = onLoopback } = options;
  const programs = await Promise.all(kinds.map(([name]) => programsOf(name, logger)));
  const root = await dataHome(options.folder);
  // Servers run as another user than root, and must pass through.
  await chmod(root, 0o711);
  const now = (): Date => new Date();
  const naming = { name: "klutch-broker", now, host: reach.host };
  const authority = await openAuthority(join(root, "authority"), naming);
  return kinds.flatMap(([, kindOf], index) => {
    const found = programs[index];
    if (found === undefined) return [];
    return [new OwnServers({ ...options, kind: kindOf(found), root, reach, authority })];
  });
}

async function programsOf(name: DebianName, logger: Logger): Promise<DebianPrograms | undefined> {
  try {
    const progress = (line: string): void => logger.info("fetching a data server", { line });
    const programs = await resolveDebian(name, { progress });
    logger.info("a data server can be run", { server: name, version: programs.version });
    return programs;
  } catch (error) {
    if (!(error instanceof EngineError) || error.code !== "PackageMissing") throw error;
    logger.warn("a data server cannot be run, so its services are not offered", { server: name, error });
    return undefined;
  }
}
