/** The one RabbitMQ server whose virtual hosts are instances: how it starts, and its management API. */
import { randomBytes } from "node:crypto";
import { glob } from "node:fs/promises";
import { join } from "node:path";
import { makeServerFolder, writeForServer } from "@klutch/data-servers";
import { type DebianPrograms, EngineError } from "@klutch/engines";
import { adminUser, type Launch, type Place, type ServerKind, type Session } from "./driver.ts";
import { askAsAdmin } from "./server-request.ts";

/** Names in the server's own folder. */
const configFile = "rabbitmq.conf";
const pluginsFile = "enabled_plugins";
const cookieFile = ".erlang.cookie";
const storeFolder = "store";
const logFolder = "log";
const timeoutMs = 20_000;
/** Erlang reads thousands of small files: it takes five seconds on an idle machine, and forty beside ten programs that compute. */
export const rabbitmqPatienceMs = 180_000;

/** Erlang's flags for how long its idle threads wait busily: schedulers, and the threads of long computations and of files. */
const idleThreads = ["+sbwt", "+sbwtdcpu", "+sbwtdio"];

/** Ports besides that of AMQP. */
export interface RabbitPorts {
  readonly management: number;
  /** Erlang's, on loopback only. */
  readonly distribution: number;
  readonly mapper: number;
}

/** Runs Erlang's port mapper in the foreground, in the group of the server, with which it ends. It would stay behind as a daemon. */
const withMapper = '"$EPMD" </dev/null & exec "$@"';

/** Returns the kind of server that runs these programs at these ports. */
export function rabbitmqKind(programs: DebianPrograms, ports: RabbitPorts): ServerKind {
  return {
    type: "messaging",
    program: "RabbitMQ server",
    parameters: {},
    patienceMs: rabbitmqPatienceMs,
    async initialise({ data }) {
      for (const folder of [storeFolder, logFolder]) await makeServerFolder(join(data, folder));
      await writeForServer(join(data, cookieFile), randomBytes(24).toString("hex"));
      await writeForServer(join(data, pluginsFile), "[rabbitmq_management].\n");
    },
    async launch(place): Promise<Launch> {
      await writeForServer(join(place.data, configFile), configOf(place, ports));
      // One scheduler that sleeps when it is idle. Erlang's other threads wait by yielding the processor: on a busy machine, where each yield
      // costs a turn, the server would not start within minutes.
      const machine = ["-noinput", "+W", "w", "+S", "1:1", ...idleThreads.flatMap((flag) => [flag, "none"])];
      const erlang = join(programs.root, "usr", "lib", "erlang");
      const boot = [
        "-boot",
        join(erlang, "bin", "start_sasl"),
        "-start_epmd",
        "false",
        "-s",
        "rabbit",
        "boot",
      ];
      const loopbackOnly = ["-kernel", "inet_dist_use_interface", "{127,0,0,1}"];
      return {
        command: "/bin/sh",
        args: ["-c", withMapper, "rabbitmq", programs.path("erlexec"), ...machine, ...boot, ...loopbackOnly],
        env: await environmentOf(place, programs, ports),
        ready: () => manage(place, ports, "GET", "/overview").then(() => true),
      };
    },
    open: () => Promise.resolve(noSession),
    credentials: () => Promise.reject(new Error("the server is no instance")),
  };
}

/** The driver uses the management API instead. */
const refuse = (): Promise<never> => Promise.reject(new Error("the RabbitMQ server is no instance"));
const noSession: Session = {
  run: refuse,
  ensureLogin: refuse,
  dropLogin: refuse,
  setFull: () => Promise.resolve(),
  dump: refuse,
  fill: refuse,
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

function configOf({ port, reach, tls, adminPassword }: Place, ports: RabbitPorts): string {
  const files = (prefix: string): readonly string[] => [
    `${prefix}.cacertfile = ${tls.authority}`,
    `${prefix}.certfile = ${tls.certificate}`,
    `${prefix}.keyfile = ${tls.key}`,
  ];
  return [
    "listeners.tcp = none",
    `listeners.ssl.1 = ${reach.listen}:${port}`,
    ...files("ssl_options"),
    `management.ssl.ip = ${reach.listen}`,
    `management.ssl.port = ${ports.management}`,
    ...files("management.ssl"),
    `default_user = ${adminUser}`,
    `default_pass = ${adminPassword}`,
    "vm_memory_high_watermark.absolute = 512MB",
    "disk_free_limit.absolute = 256MB",
    "log.console.level = warning",
    "",
  ].join("\n");
}

async function environmentOf(
  { data }: Place,
  { root, env, path }: DebianPrograms,
  ports: RabbitPorts,
): Promise<Readonly<Record<string, string>>> {
  const erlang = join(root, "usr", "lib", "erlang");
  const [home] = await Array.fromAsync(glob(join(root, "usr/lib/rabbitmq/lib/rabbitmq_server-*")));
  if (home === undefined) throw new EngineError("PackageMissing", `${root} has Erlang but no RabbitMQ`);
  const inData = (name: string): string => join(data, name);
  return {
    ...env,
    HOME: data,
    ROOTDIR: erlang,
    BINDIR: join(path("erlexec"), ".."),
    EMU: "beam",
    PROGNAME: "erl",
    EPMD: path("epmd"),
    ERL_EPMD_ADDRESS: "127.0.0.1",
    ERL_EPMD_PORT: String(ports.mapper),
    ERL_LIBS: join(home, "plugins"),
    ERL_CRASH_DUMP_BYTES: "0",
    RABBITMQ_HOME: home,
    RABBITMQ_PLUGINS_DIR: join(home, "plugins"),
    RABBITMQ_NODENAME: "klutch@localhost",
    RABBITMQ_MNESIA_BASE: inData(storeFolder),
    RABBITMQ_LOG_BASE: inData(logFolder),
    RABBITMQ_LOGS: "-",
    RABBITMQ_PID_FILE: inData("pid"),
    RABBITMQ_CONFIG_FILE: inData(configFile),
    RABBITMQ_ENABLED_PLUGINS_FILE: inData(pluginsFile),
    RABBITMQ_CONF_ENV_FILE: "/dev/null",
    RABBITMQ_DIST_PORT: String(ports.distribution),
  };
}

/** Calls the management API as the broker, and returns the body of its answer. Throws when the server refuses; 404 is accepted for DELETE. */
export async function manage(
  place: Place,
  { management: port }: Pick<RabbitPorts, "management">,
  method: string,
  path: string,
  body?: object,
): Promise<string> {
  const request = { host: place.reach.listen, port, method, path: `/api${path}`, body };
  return askAsAdmin(place, { ...request, server: "RabbitMQ", signal: AbortSignal.timeout(timeoutMs) });
}
