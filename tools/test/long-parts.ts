/** The parts of `npm run test:long`: everything that takes too long for each change. */

/** One part, which can be run by its name. */
export interface LongPart {
  readonly name: string;
  /** Completes the sentence "It tests …". */
  readonly tests: string;
  /** On two cores with warm caches; printed before the run. */
  readonly minutes: number;
  /** Test files whose path begins so; they end in `.long.test.ts`. */
  readonly files?: readonly string[];
  /** Programs that run side by side and count as one test each: an entry of this repository and its arguments. */
  readonly programs?: readonly (readonly [entry: string, ...args: readonly string[]])[];
}

const simulation = "proof/simulation/main.ts";
const chains = "proof/bench/chains.ts";

/** In the order in which they run: what finds most comes first. */
export const longParts: readonly LongPart[] = [
  {
    name: "seeds",
    tests:
      "the agents in virtual time under 3,000 seeds of faults, a hostile provider and a lying app cluster",
    minutes: 20,
    programs: [
      [simulation, "--seeds", "2000", "--from", "1001"],
      [simulation, "--seeds", "300", "--from", "1001", "--naive-store"],
      [simulation, "--seeds", "300", "--from", "1001", "--hostile"],
      [simulation, "--seeds", "100", "--from", "2001", "--hostile", "--keep-exports"],
      [simulation, "--seeds", "300", "--from", "1001", "--liar"],
    ],
  },
  {
    name: "faults",
    tests: "agents and API servers that are killed and cut off, on real servers",
    minutes: 6,
    programs: [["proof/e2e/faults/real/soak.ts", "--seeds", "5", "--from", "101"]],
  },
  {
    name: "upgrade",
    tests: "mixed releases over living claims",
    minutes: 4,
    files: ["proof/e2e/upgrade/"],
  },
  {
    name: "a8s",
    tests: "databases of the a8s operator through the real provider-kubernetes",
    minutes: 4,
    files: ["proof/e2e/a8s-", "proof/kube-testing/"],
  },
  {
    name: "gitops",
    tests: "claims as Argo CD, Flux and kstatus judge them",
    minutes: 4,
    files: ["proof/e2e/gitops/"],
  },
  {
    name: "identity",
    tests: "logins by Keycloak",
    minutes: 2,
    files: ["apps/backend/"],
  },
  {
    name: "user",
    tests: "the whole sandbox as an ordinary user",
    minutes: 3,
    files: ["proof/e2e/ordinary-user"],
  },
  {
    name: "release",
    tests: "images, executables, npm packages, bundles and the offline archive, built whole and tried",
    minutes: 15,
    files: ["tools/release/"],
  },
  {
    name: "helm",
    tests: "charts that Helm installs, upgrades and rolls back",
    minutes: 3,
    files: ["tools/charts/"],
  },
  {
    name: "nodes",
    tests: "docs/install.md word by word on real nodes; needs root and control groups",
    minutes: 8,
    files: ["sandbox/nodes/", "sandbox/engines/", "proof/e2e/install-on-nodes"],
  },
  {
    name: "chains",
    tests: "lives of real databases while provider, function and broker are killed, with two seeds",
    minutes: 25,
    files: ["proof/e2e/faults/chains/"],
    programs: [
      [chains, "--chains", "50", "--seed", "1"],
      [chains, "--chains", "50", "--seed", "2"],
    ],
  },
];

/** Returns the parts with these names, or all when there are none. Throws with the names that exist for one that does not. */
export function chooseParts(names: readonly string[]): readonly LongPart[] {
  const unknown = names.filter((name) => !longParts.some((part) => part.name === name));
  if (unknown.length > 0)
    throw new TypeError(
      `no part is called "${unknown.join('", "')}"; the parts are ${longParts.map(({ name }) => name).join(", ")}`,
    );
  return longParts.filter(({ name }) => names.length === 0 || names.includes(name));
}

/** Returns the files of a part. */
export function filesOf({ files = [] }: LongPart, all: readonly string[]): readonly string[] {
  return all.filter((file) => files.some((start) => file.startsWith(start)));
}
