/** The order of folders inside the larger parts, as data, and the graph of files that it is held against. */
import { dirname, join } from "node:path";
import { importsOf } from "./arrows.ts";
import type { SourceFile } from "./source-files.ts";

/** The rooms of one part, from top to bottom. A file may import from its own room and from those below. */
export interface HouseRule {
  /** Folder such as `apps/konnector/src`; paths of rooms are relative to it. */
  readonly folder: string;
  /** A room is one or more folders (ending in `/`) or files. Of several that fit, the longest counts. */
  readonly rooms: readonly (readonly string[])[];
}

/** Parts whose rooms have an order. Every file of such a part that is not a test's must be in a room. */
export const houseRules: readonly HouseRule[] = [
  {
    folder: "apps/konnector/src",
    rooms: [
      ["main.ts", "index.ts"],
      ["konnector.ts", "idle-gc.ts"],
      ["controllers/provider-secret/", "controllers/app-cluster-secret/"],
      ["provider/"],
      ["controllers/warning/"],
      ["controllers/binding/"],
      ["controllers/crd/"],
      ["controllers/cluster-binding/"],
      ["controllers/object/"],
      ["controllers/claimed-resource/"],
      ["controllers/service-namespace/"],
      ["controllers/binding-status/"],
      ["provider-connection/"],
      // What every room may use.
      ["./"],
    ],
  },
  {
    folder: "apps/backend/src",
    rooms: [
      ["main.ts", "index.ts", "http-server.ts"],
      ["backend.ts"],
      ["config.ts", "config-values.ts"],
      ["login/"],
      ["app-cluster-bindings/"],
      ["cluster-bindings/"],
      ["exports/"],
      ["service-namespaces/"],
      ["controller-context.ts"],
      ["provisioning/"],
      // What every room may use.
      ["./"],
    ],
  },
  {
    folder: "apps/cli/src",
    rooms: [
      ["main.ts", "index.ts"],
      ["program.ts"],
      ["commands.ts"],
      ["bind/"],
      ["unbind/"],
      ["doctor/"],
      ["verify/"],
      ["upgrade/"],
      ["service/"],
      ["mirror/"],
      ["completion/"],
      ["app-cluster/"],
      // What every room may use.
      ["./"],
    ],
  },
  {
    folder: "apps/provider-anynines/src",
    rooms: [
      ["main.ts", "index.ts", "config.ts"],
      ["provider.ts"],
      ["wakes.ts", "controllers.ts", "provider-config/controllers.ts"],
      [
        "caches/",
        "claims/events.ts",
        "provider-config/check.ts",
        "provider-config/health.ts",
        "provider-config/users.ts",
      ],
      ["service-instance/"],
      ["service-binding/"],
      ["restore/"],
      ["backup/"],
      ["backup-manager/"],
      ["broker/"],
      ["operations/"],
      ["records/"],
      ["provider-config/"],
      ["claims/"],
      // What every room may use.
      ["./"],
    ],
  },
];

/** The files that each file imports, of those in `sources`; imports of packages lead to their `src/index.ts`. */
export function importGraph(sources: readonly SourceFile[]): ReadonlyMap<string, readonly string[]> {
  const known = new Set(sources.map(({ path }) => path));
  const targetOf = (path: string, specifier: string): string | undefined => {
    const candidates = specifier.startsWith(".")
      ? [join(dirname(path), specifier)]
      : specifier.startsWith("@klutch/")
        ? ["packages/", "apps/", "sandbox/", "proof/"].map(
            (root) => `${root}${specifier.slice("@klutch/".length)}/src/index.ts`,
          )
        : [];
    return candidates.find((candidate) => known.has(candidate));
  };
  return new Map(
    sources.map(({ path, text }) => [
      path,
      [...new Set(importsOf(text).flatMap((specifier) => targetOf(path, specifier) ?? []))],
    ]),
  );
}

/** Groups of files that import each other, directly or not; each sorted, and the groups sorted by their first file. */
export function circlesOf(graph: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const reachable = new Map<string, Set<string>>();
  const reach = (from: string): Set<string> => {
    const found = new Set<string>();
    const open = [...(graph.get(from) ?? [])];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (found.has(next)) continue;
      found.add(next);
      open.push(...(graph.get(next) ?? []));
    }
    return found;
  };
  for (const path of graph.keys()) reachable.set(path, reach(path));
  const inCircle = [...graph.keys()].filter((path) => reachable.get(path)?.has(path)).toSorted();
  const circles = new Map<string, string[]>();
  for (const path of inCircle) {
    const first = inCircle.find(
      (other) => other === path || (reachable.get(path)?.has(other) && reachable.get(other)?.has(path)),
    );
    circles.set(first ?? path, [...(circles.get(first ?? path) ?? []), path]);
  }
  return [...circles.values()];
}

/** Position of the room that holds the path; undefined when none does. `path` is relative to the rule's folder. */
export function roomOf({ rooms }: HouseRule, path: string): number | undefined {
  let best: { readonly index: number; readonly length: number } | undefined;
  for (const [index, prefixes] of rooms.entries()) {
    for (const prefix of prefixes) {
      const fits =
        prefix === "./"
          ? !path.includes("/")
          : path === prefix || (prefix.endsWith("/") && path.startsWith(prefix));
      if (fits && prefix.length > (best?.length ?? 0)) best = { index, length: prefix.length };
    }
  }
  return best?.index;
}
