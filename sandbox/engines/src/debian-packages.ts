/** The servers and tools that Debian packages hold, and where they are in them. */
import { join } from "node:path";

/** Names of all of them. */
export type DebianName =
  | "postgresql-15"
  | "mariadb"
  | "redis"
  | "node-programs"
  | "busybox"
  | "prometheus"
  | "rabbitmq";

/** Defines the packages and programs of a server or tool. */
export interface DebianDefinition {
  /** The first one gives the version. */
  readonly packages: readonly [string, ...string[]];
  /** Folder of each program, below the root of the packages. */
  readonly programs: Readonly<Record<string, string>>;
  /** Program that says its version when it is asked with `question`, and what it must say. */
  readonly probe: string;
  /** Default `--version`. */
  readonly question?: string | undefined;
  readonly version: RegExp;
  /** Symbolic links that Debian makes when it installs: targets by path, below the root of the packages. */
  readonly links?: Readonly<Record<string, string>> | undefined;
  /** An installed program of this name may be another one. */
  readonly fetchedOnly?: boolean | undefined;
}

const inFolder = (folder: string, ...programs: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(programs.map((program) => [program, folder]));
const iptablesNames = ["iptables", "iptables-save", "iptables-restore"].flatMap((name) => [
  name,
  name.replace("ip", "ip6"),
]);

/** Definitions by name. */
export const debianDefinitions: Readonly<Record<DebianName, DebianDefinition>> = {
  "postgresql-15": {
    packages: ["postgresql-15", "postgresql-client-15"],
    programs: inFolder("usr/lib/postgresql/15/bin", "postgres", "initdb", "pg_dump", "pg_restore", "psql"),
    probe: "postgres",
    version: /PostgreSQL\) (15\.\d+)/,
  },
  mariadb: {
    packages: ["mariadb-server-core", "mariadb-client"],
    programs: { mariadbd: "usr/sbin", mariadb: "usr/bin", "mariadb-dump": "usr/bin" },
    probe: "mariadbd",
    version: /Ver (10\.11\.\d+)/,
  },
  redis: {
    packages: ["redis-server", "redis-tools"],
    programs: inFolder("usr/bin", "redis-server", "redis-cli", "redis-check-rdb"),
    probe: "redis-server",
    version: /v=(7\.\d+\.\d+)/,
  },
  "node-programs": {
    packages: [
      "containerd",
      "runc",
      "containernetworking-plugins",
      "iptables",
      "nftables",
      "conntrack",
      "iproute2",
    ],
    programs: {
      ...inFolder("usr/bin", "containerd", "containerd-shim-runc-v2", "ctr", "ip"),
      ...inFolder("usr/sbin", "runc", "nft", "conntrack", ...iptablesNames),
      ...inFolder("usr/lib/cni", "bridge", "host-local", "loopback", "portmap"),
    },
    probe: "containerd",
    // Its configuration's format is that of 1.
    version: /containerd\S* v?(1\.[67]\.\d+)/,
    links: Object.fromEntries(iptablesNames.map((name) => [`usr/sbin/${name}`, "xtables-nft-multi"])),
  },
  busybox: {
    packages: ["busybox-static"],
    programs: { busybox: "usr/bin" },
    probe: "busybox",
    question: "--help",
    version: /^BusyBox v(1\.\d+\.\d+)/,
    // Debian has another one of the same path, which needs libraries.
    fetchedOnly: true,
  },
  // The server and its checker of rules.
  prometheus: {
    packages: ["prometheus"],
    programs: inFolder("usr/bin", "prometheus", "promtool"),
    probe: "promtool",
    version: /^promtool, version (2\.\d+\.\d+)/,
  },
  // The virtual machine of Erlang, which says its own version.
  rabbitmq: {
    packages: ["rabbitmq-server"],
    programs: inFolder("usr/lib/erlang/erts-13.1.5/bin", "beam.smp", "erlexec", "epmd"),
    probe: "beam.smp",
    question: "-V",
    version: /emulator version (13\.\d+\.\d+)/,
  },
};

/** Returns the paths of a definition's programs by name, below `root`. */
export function programsIn(definition: DebianDefinition, root: string): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(definition.programs).map(([name, folder]) => [name, join(root, folder, name)]),
  );
}
