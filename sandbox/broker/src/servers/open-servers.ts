/** The services whose instances have a server each, as far as this machine has their programs. */
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { onLoopback, openAuthority, type Reach } from "@klutch/data-servers";
import { dataHome, type DebianName, type DebianPrograms, EngineError, resolveDebian } from "@klutch/engines";
import type { Logger } from "@klutch/telemetry";
import type { Dumps } from "../backup-manager/dumps.ts";
import { servicesOf, type ServiceType } from "../catalog.ts";
import type { ParameterChecks } from "../parameter-checks.ts";
import type { ServiceDefinition } from "../service.ts";
import type { Binding } from "../store.ts";
import { DataServers } from "./data-servers.ts";
import { keyvalueFormat } from "./keyvalue/format.ts";
import { keyvalueKind, type KeyvalueSession } from "./keyvalue/keyvalue.ts";
import { keyvalueParameters } from "./keyvalue/parameters.ts";
import type { ServerKind, Session } from "./kind.ts";
import { mariadbFormat } from "./mariadb/format.ts";
import { mariadbKind, type MariadbSession } from "./mariadb/mariadb.ts";
import { mariadbParameters } from "./mariadb/parameters.ts";
import { type DumpFormat, ServerDumps } from "./server-dumps.ts";

/** Those that can be offered. Disposing ends all servers. */
export interface OpenServers extends AsyncDisposable {
  readonly definitions: ReadonlyMap<ServiceType, ServiceDefinition>;
  readonly mariadb: DataServers<MariadbSession> | undefined;
  readonly keyvalue: DataServers<KeyvalueSession> | undefined;
  /** For the backup manager. */
  readonly dumps: readonly Dumps[];
}

/** Options of `openServers`. */
export interface OpenServersOptions {
  /** Holds everything; made if it is not there. */
  readonly folder: string;
  /** Default: on loopback. */
  readonly reach?: Reach | undefined;
  readonly secretKey: string;
  /** Those that an instance has. */
  readonly bindingsOf: (instanceId: string) => Promise<readonly Binding[]>;
  readonly logger: Logger;
  readonly diskEveryMs?: number | undefined;
}

/** Finds or fetches the programs. A service whose programs cannot be had is left out, and the log says what is missing. */
export async function openServers(options: OpenServersOptions): Promise<OpenServers> {
  const { logger, reach = onLoopback } = options;
  const [mariadbPrograms, redisPrograms] = await Promise.all([
    programsOf("mariadb", logger),
    programsOf("redis", logger),
  ]);
  const root = await dataHome(options.folder);
  // Servers run as another user than root, and must get through.
  await chmod(root, 0o711);
  const authority = await openAuthority(join(root, "authority"), {
    name: "klutch-broker",
    now: () => new Date(),
    host: reach.host,
  });
  const definitions = new Map<ServiceType, ServiceDefinition>();
  const dumps: Dumps[] = [];
  const made = <S extends Session>(
    kind: ServerKind<S>,
    checks: ParameterChecks,
    format: DumpFormat<S>,
  ): DataServers<S> => {
    const servers = new DataServers({ ...options, kind, root, reach, authority });
    definitions.set(kind.name, { backend: servers, parameters: checks });
    const { bindingsOf } = options;
    for (const serviceId of servicesOf(kind.name))
      dumps.push(new ServerDumps({ serviceId, servers, kind, format, bindingsOf }));
    return servers;
  };
  const mariadb =
    mariadbPrograms && made(mariadbKind(mariadbPrograms), mariadbParameters, mariadbFormat(mariadbPrograms));
  const keyvalue =
    redisPrograms && made(keyvalueKind(redisPrograms), keyvalueParameters, keyvalueFormat(redisPrograms));
  return {
    definitions,
    mariadb,
    keyvalue,
    dumps,
    async [Symbol.asyncDispose]() {
      await Promise.all([mariadb?.[Symbol.asyncDispose](), keyvalue?.[Symbol.asyncDispose]()]);
    },
  };
}

async function programsOf(name: DebianName, logger: Logger): Promise<DebianPrograms | undefined> {
  try {
    const programs = await resolveDebian(name, {
      progress: (line) => logger.info("fetching a data server", { line }),
    });
    logger.info("a data server can be run", { server: name, version: programs.version });
    return programs;
  } catch (error) {
    if (!(error instanceof EngineError) || error.code !== "PackageMissing") throw error;
    logger.warn("a data server cannot be run, so its services are not offered", { server: name, error });
    return undefined;
  }
}
