/** Reads from server-sets.yaml which files of Debian's packages each database server needs. */
import { listAt, recordAt } from "@klutch/kube-core";
import { documentsIn } from "../generate/manifests.ts";

const serverNames = ["postgresql", "mariadb", "redis"] as const;

/** Names of all servers. */
export type ServerName = (typeof serverNames)[number];

/** A layer with one kind of server. */
export interface ServerSet {
  readonly name: ServerName;
  /** Patterns of the files to take, by package. */
  readonly files: Readonly<Record<string, RegExp>>;
  /** Packages with the libraries that those files are linked to; only those needed are taken. */
  readonly libraries: readonly string[];
}

const [sets] = documentsIn("tools/release/server-sets.yaml", {});

/** Layers from the lowest. */
export const serverSets: readonly ServerSet[] = serverNames.map((name) => {
  const files = Object.entries(recordAt(sets, name, "files"));
  return {
    name,
    files: Object.fromEntries(files.map(([file, pattern]) => [file, new RegExp(String(pattern))])),
    libraries: listAt(sets, name, "libraries").flatMap((names) => String(names).split(" ")),
  };
});
