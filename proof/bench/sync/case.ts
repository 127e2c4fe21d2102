/** The options of `npm run bench:sync`, and the input and output of every case. */
import type { Random } from "@klutch/kube";
import { UsageError } from "@klutch/kube-testing";
import type { FixtureOptions } from "../harness/fixture.ts";
import type { WidgetContents } from "../harness/widget.ts";
import type { Target } from "./measurement.ts";

/** All cases by the names that `--only` takes. */
export const caseNames: readonly string[] =
  "floor latency timeline burst distant calls initial memory idle restart noop watches soak".split(" ");

/** The options, as the published figures have them. */
export const defaults = {
  /** Command of the agent to measure; it reads KUBECONFIG and POD_NAMESPACE; `{port}` becomes a free port, which may show its metrics. Default: our own. */
  agent: "",
  /** Runs of each case; watches and soak run once. */
  runs: 5,
  /** Names of cases with commas between them, or as words: `-- timeline burst`. Default: all. */
  only: "",
  /** The app cluster marks new claims itself, as `kubectl bind --marks-at-admission` has it. */
  "marks-at-admission": false,
  /** File for the figures of each run. */
  json: "",
  seed: 1,
  /** Claims of the settled fixture; smaller ones make all other numbers smaller, too. */
  size: 10_000,
  /** Bytes in a claim's spec. */
  "spec-bytes": 2000,
  "idle-seconds": 600,
  "soak-minutes": 30,
  /** Minutes that the agent may take for all claims; slow agents need more. */
  "timeout-minutes": 60,
};

/** Sizes and times of a run. */
export interface BenchSizes {
  /** Claims in the settled fixture. */
  readonly claims: number;
  /** Claims measured one at a time. */
  readonly latencyCount: number;
  /** Claims created at once. */
  readonly burst: number;
  /** The same to a control plane that is far away. */
  readonly distantBurst: number;
  /** Claims whose calls are counted, and upstream objects touched by the provider without need. */
  readonly fewClaims: number;
  /** Claims with a large spec. */
  readonly largeClaims: number;
  readonly specBytes: number;
  readonly idleSeconds: number;
  readonly soakMinutes: number;
  readonly timeoutMs: number;
}

/** Returns the sizes for the options. */
export function sizesOf(options: typeof defaults): BenchSizes {
  const { size } = options;
  return {
    claims: size,
    latencyCount: Math.min(200, size),
    burst: Math.min(300, size),
    distantBurst: Math.min(1000, size),
    fewClaims: Math.min(100, size),
    largeClaims: Math.ceil(size / 10),
    specBytes: options["spec-bytes"],
    idleSeconds: options["idle-seconds"],
    soakMinutes: options["soak-minutes"],
    timeoutMs: options["timeout-minutes"] * 60_000,
  };
}

/** Returns the cases of `--only`. Throws a `UsageError` for a name that is none. */
export function namesOf({ only }: Pick<typeof defaults, "only">): readonly string[] {
  const names = only === "" ? caseNames : only.split(",");
  const unknown = names.find((name) => !caseNames.includes(name));
  if (unknown !== undefined) throw new UsageError(`--only knows ${caseNames.join(", ")}, not "${unknown}"`);
  return names;
}

/** The settings and reporters that a case works with. */
export interface BenchContext {
  /** The beginning of each fixture's options. */
  readonly setUp: Pick<FixtureOptions, "agent" | "marksAtAdmission">;
  readonly sizes: BenchSizes;
  /** Contents of objects and choices; seeded. */
  readonly random: Random;
  /** Tells the person who waits. */
  readonly say: (line: string) => void;
  /** Gives one figure to the report; without a target nothing is promised. */
  readonly report: (metric: string, value: number, unit?: string, target?: Target) => void;
  /** Tells whether the case of this name was asked for, to cases that share a fixture. */
  readonly wants: (name: string) => boolean;
}

/** Returns the contents of a claim of ordinary size. */
export function contentsOf({ random, sizes }: BenchContext): WidgetContents {
  return { random, bytes: sizes.specBytes };
}

/** One fixture and the cases that are measured in it. */
export interface BenchCase {
  /** The cases it serves. */
  readonly serves: readonly string[];
  /** Runs once however many runs were asked for: it takes long, or its result does not vary. */
  readonly once?: boolean | undefined;
  run(context: BenchContext): Promise<void>;
}
