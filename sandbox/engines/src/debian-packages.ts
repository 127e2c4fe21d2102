/** The servers and tools that Debian packages hold, and where they are in them. */
import type { DigestedFile } from "./kept-files.ts";

/** Names of all of them. */
export type DebianName = "postgresql-15" | "mariadb" | "redis" | "node-programs" | "busybox" | "prometheus";

/** What is needed of one of them. */
export interface DebianDefinition {
  readonly name: DebianName;
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

const postgresFolder = "usr/lib/postgresql/15/bin";
const cniFolder = "usr/lib/cni";
const iptablesNames = ["iptables", "iptables-save", "iptables-restore"].flatMap((name) => [
  name,
  name.replace("ip", "ip6"),
]);

/** By name. */
export const debianDefinitions: Readonly<Record<DebianName, DebianDefinition>> = {
  "postgresql-15": {
    name: "postgresql-15",
    packages: ["postgresql-15", "postgresql-client-15"],
    programs: {
      postgres: postgresFolder,
      initdb: postgresFolder,
      pg_dump: postgresFolder,
      pg_restore: postgresFolder,
      psql: postgresFolder,
    },
    probe: "postgres",
    version: /PostgreSQL\) (15\.\d+)/,
  },
  mariadb: {
    name: "mariadb",
    packages: ["mariadb-server-core", "mariadb-client"],
    programs: { mariadbd: "usr/sbin", mariadb: "usr/bin", "mariadb-dump": "usr/bin" },
    probe: "mariadbd",
    version: /Ver (10\.11\.\d+)/,
  },
  redis: {
    name: "redis",
    packages: ["redis-server", "redis-tools"],
    programs: { "redis-server": "usr/bin", "redis-cli": "usr/bin", "redis-check-rdb": "usr/bin" },
    probe: "redis-server",
    version: /v=(7\.\d+\.\d+)/,
  },
  "node-programs": {
    name: "node-programs",
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
      containerd: "usr/bin",
      "containerd-shim-runc-v2": "usr/bin",
      ctr: "usr/bin",
      runc: "usr/sbin",
      bridge: cniFolder,
      "host-local": cniFolder,
      loopback: cniFolder,
      portmap: cniFolder,
      ...Object.fromEntries(iptablesNames.map((name) => [name, "usr/sbin"])),
      nft: "usr/sbin",
      conntrack: "usr/sbin",
      ip: "usr/bin",
    },
    probe: "containerd",
    // Its configuration's format is that of 1.
    version: /containerd\S* v?(1\.[67]\.\d+)/,
    links: Object.fromEntries(iptablesNames.map((name) => [`usr/sbin/${name}`, "xtables-nft-multi"])),
  },
  busybox: {
    name: "busybox",
    packages: ["busybox-static"],
    programs: { busybox: "usr/bin" },
    probe: "busybox",
    question: "--help",
    version: /^BusyBox v(1\.\d+\.\d+)/,
    // Debian has another one of the same path, which needs libraries.
    fetchedOnly: true,
  },
  // Its checker of rules, for tests.
  prometheus: {
    name: "prometheus",
    packages: ["prometheus"],
    programs: { promtool: "usr/bin" },
    probe: "promtool",
    version: /^promtool, version (2\.\d+\.\d+)/,
  },
};

/** Programs of a definition by name, below `root`. */
export function programsIn(definition: DebianDefinition, root: string): ReadonlyMap<string, string> {
  const base = root.endsWith("/") ? root : `${root}/`;
  return new Map(
    Object.entries(definition.programs).map(([name, folder]) => [name, `${base}${folder}/${name}`]),
  );
}

/** A version as a folder's name: a colon would end the folder's name in a list of folders. */
export function folderOfVersion(version: string): string {
  return version.replaceAll(/[^\w.+~-]/g, "_");
}

/**
 * The files that apt would download into `folder`, with the digests that its signed lists name. `output` is what `--print-uris` wrote. Those
 * with a digest of another kind are left out.
 */
export function announcedBy(output: string, folder: string): readonly DigestedFile[] {
  const line = /^'[^']*' (\w[^\s/]*\.deb) \d+ (SHA256|SHA512):([0-9a-f]+)$/gm;
  return [...output.matchAll(line)].map(([, name = "", kind, hex = ""]) => ({
    path: `${folder}/${name}`,
    digest: { algorithm: kind === "SHA512" ? "sha512" : "sha256", hex },
  }));
}

/**
 * What apt complains of, without credentials that its configuration may hold in addresses. `output` is what apt wrote.
 */
export function complaintsOf(output: string): string {
  const lines = output.split("\n").filter((line) => /^(E|Err|W):?/.test(line));
  const errors = lines.filter((line) => line.startsWith("E"));
  const first = (errors.length > 0 ? errors : lines).slice(0, 3).map((line) => line.trim());
  return first.join("; ").replaceAll(/\/\/[^/@\s]*@/g, "//");
}
