/** What every benchmark case gets and gives. */
import type { Random } from "@klutch/kube";
import type { AgentSpec } from "../harness/agent-process.ts";
import type { Measurement } from "./measurement.ts";

/** Sizes and times; the defaults are those of the published figures. */
export interface BenchSizes {
  /** Claims measured one at a time. Default 200. */
  readonly latencyCount: number;
  /** Claims created at once. Default 300. */
  readonly burst: number;
  /** The same to a control plane that is far away. Default 1 000. */
  readonly distantBurst: number;
  /** Claims in the settled world. Default 10 000. */
  readonly claims: number;
  /** Bytes in a claim's spec. Default 2 000. */
  readonly specBytes: number;
  /** Large claims. Default 1 000 of 200 000 bytes. */
  readonly largeClaims: number;
  readonly largeBytes: number;
  /** Secrets that are none of the agent's business. Default 10 000. */
  readonly foreignSecrets: number;
  /** Claims whose calls are counted. Default 100. */
  readonly callClaims: number;
  /** Upstream objects touched by the provider without need. Default 100. */
  readonly noopObjects: number;
  /** Default 600. */
  readonly idleSeconds: number;
  /** Default 30. */
  readonly soakMinutes: number;
  /** Changes a second during the soak. Default 20. */
  readonly soakRate: number;
  /** How long the agent may take for all claims; slow agents need more. Default 60. */
  readonly timeoutMinutes: number;
}

/** What a case works with. */
export interface BenchContext {
  readonly agent: AgentSpec;
  readonly sizes: BenchSizes;
  /** Contents of objects and choices; seeded. */
  readonly random: Random;
  /** Tells the person who waits. */
  readonly say: (line: string) => void;
  /** Gives one figure to the report. */
  readonly report: (measurement: Measurement) => void;
  /** Keeps details in the JSON output. */
  readonly keep: (name: string, value: unknown) => void;
  /** Whether the case of this name was asked for: cases that share a world ask. */
  readonly wants: (name: CaseName) => boolean;
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

/** One of them. */
export type CaseName = (typeof caseNames)[number];

/** One world and what is measured in it. */
export interface BenchCase {
  /** The cases it serves. */
  readonly serves: readonly CaseName[];
  /** Runs once however many runs were asked for: it takes long, or its result does not vary. */
  readonly once?: boolean | undefined;
  run(context: BenchContext): Promise<void>;
}
