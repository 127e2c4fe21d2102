/** Lists the parts of `npm run test:long`: everything that takes too long for each change. */

/** One part, which can be run by its name. */
export interface LongPart {
  readonly name: string;
  /** Minutes on two cores with warm caches; printed before the run. */
  readonly minutes: number;
  /** Completes the sentence "It tests …". */
  readonly tests: string;
  /** Test files whose path begins so; they end in `.long.test.ts`. */
  readonly files?: readonly string[];
  /** Programs that run side by side and count as one test each: an entry of this repository and its arguments. */
  readonly programs?: readonly string[];
}

const seeds = "proof/simulation/main.ts --seeds";
const chains = "proof/bench/chains.ts --chains 50 --seed";

/** Parts in the order in which they run: the part that finds most comes first. */
export const longParts: readonly LongPart[] = [
  {
    name: "seeds",
    minutes: 20,
    tests:
      "the agents in virtual time under 3,000 seeds of faults, a hostile provider and a lying app cluster",
    programs: [
      `${seeds} 2000 --from 41`,
      `${seeds} 300 --from 1001 --naive-store`,
      `${seeds} 300 --from 9 --hostile`,
      `${seeds} 100 --from 2001 --hostile --keep-exports`,
      `${seeds} 300 --from 11 --liar`,
    ],
  },
  {
    name: "faults",
    minutes: 6,
    tests: "agents and API servers that are killed and cut off, on real servers",
    programs: ["proof/e2e/faults/real/soak.ts --seeds 5 --from 101"],
  },
  { name: "upgrade", minutes: 4, tests: "mixed releases over living claims", files: ["proof/e2e/upgrade/"] },
  {
    name: "a8s",
    minutes: 4,
    tests: "databases of the a8s operator through the real provider-kubernetes",
    files: ["proof/e2e/a8s-", "proof/kube-testing/"],
  },
  {
    name: "gitops",
    minutes: 4,
    tests: "claims as Argo CD, Flux and kstatus judge them",
    files: ["proof/e2e/gitops/"],
  },
  { name: "identity", minutes: 2, tests: "logins by Keycloak", files: ["apps/backend/"] },
  {
    name: "user",
    minutes: 3,
    tests: "the whole sandbox as an ordinary user",
    files: ["proof/e2e/ordinary-user"],
  },
  {
    name: "release",
    minutes: 15,
    tests: "images, executables, npm packages, bundles and the offline archive, built whole and tried",
    files: ["tools/release/"],
  },
  {
    name: "helm",
    minutes: 3,
    tests: "charts that Helm installs, upgrades and rolls back",
    files: ["tools/charts/"],
  },
  {
    name: "nodes",
    minutes: 8,
    tests: "docs/install.md word by word on real nodes; needs root and control groups",
    files: ["sandbox/nodes/", "sandbox/engines/", "proof/e2e/install-on-nodes"],
  },
  {
    name: "chains",
    minutes: 25,
    tests: "lives of real databases while provider, function and broker are killed, with two seeds",
    files: ["proof/e2e/faults/chains/"],
    programs: [`${chains} 1`, `${chains} 2`],
  },
];

/** Returns the parts with these names, or all when there are none. Throws with the names that exist for one that does not. */
export function chooseParts(names: readonly string[]): readonly LongPart[] {
  const known = longParts.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new TypeError(`no part is called "${unknown.join('", "')}"; the parts are ${known.join(", ")}`);
  return longParts.filter(({ name }) => names.length === 0 || names.includes(name));
}

/** Returns the files of a part. */
export function filesOf({ files = [] }: LongPart, all: readonly string[]): readonly string[] {
  return all.filter((file) => files.some((start) => file.startsWith(start)));
}
