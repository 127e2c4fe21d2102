/** The input and output of every benchmark case. */
import type { Random } from "@klutch/kube";
import type { AgentSpec } from "../harness/agent-process.ts";
import type { ClaimRef } from "../harness/claims.ts";
import type { WidgetContents } from "../harness/widget.ts";
import type { BenchFixture } from "../harness/fixture.ts";
import type { Target } from "./measurement.ts";

/** Sizes and times of the published figures. */
export const fullSizes = {
  /** Claims measured one at a time. */
  latencyCount: 200,
  /** Claims created at once. */
  burst: 300,
  /** The same to a control plane that is far away. */
  distantBurst: 1000,
  /** Claims in the settled fixture. */
  claims: 10_000,
  /** Bytes in a claim's spec. */
  specBytes: 2000,
  largeClaims: 1000,
  /** Bytes in the spec of a large claim. */
  largeBytes: 200_000,
  /** Secrets that are none of the agent's business. */
  foreignSecrets: 10_000,
  /** Claims whose calls are counted. */
  callClaims: 100,
  /** Upstream objects touched by the provider without need. */
  noopObjects: 100,
  idleSeconds: 600,
  soakMinutes: 30,
  /** Changes a second during the soak. */
  soakRate: 20,
  /** Minutes that the agent may take for all claims; slow agents need more. */
  timeoutMinutes: 60,
};

/** Sizes of a run. */
export type BenchSizes = Readonly<typeof fullSizes>;

/** Holds the fixture of the cases that follow each other, after its claims have been made. */
export interface Settled {
  readonly fixture: BenchFixture;
  readonly refs: readonly ClaimRef[];
}

/** The settings and reporters that a case works with. */
export interface BenchContext {
  readonly agent: AgentSpec;
  readonly sizes: BenchSizes;
  /** Contents of objects and choices; seeded. */
  readonly random: Random;
  /** Tells the person who waits. */
  readonly say: (line: string) => void;
  /** Gives one figure to the report; without a target nothing is promised. */
  readonly report: (metric: string, value: number, unit?: string, target?: Target) => void;
  /** Keeps details in the JSON output. */
  readonly keep: (name: string, value: unknown) => void;
  /** Tells whether the case of this name was asked for, to cases that share a fixture. */
  readonly wants: (name: CaseName) => boolean;
}

/** Returns the contents of a claim of ordinary size. */
export function contentsOf({ random, sizes }: BenchContext): WidgetContents {
  return { random, bytes: sizes.specBytes };
}

/** All cases by the names that `--only` takes. */
export const caseNames = [
  "floor",
  "latency",
  "burst",
  "distant",
  "calls",
  "initial",
  "memory",
  "idle",
  "restart",
  "noop",
  "watches",
  "soak",
] as const;

export type CaseName = (typeof caseNames)[number];

/** One fixture and the cases that are measured in it. */
export interface BenchCase {
  /** The cases it serves. */
  readonly serves: readonly CaseName[];
  /** Runs once however many runs were asked for: it takes long, or its result does not vary. */
  readonly once?: boolean | undefined;
  run(context: BenchContext): Promise<void>;
}
