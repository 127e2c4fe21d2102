/** The command line of `npm run bench:sync`. */
import { parseArgs } from "node:util";
import type { AgentSpec } from "../harness/agent-process.ts";
import { type BenchSizes, type CaseName, caseNames, fullSizes } from "./case.ts";

export interface BenchOptions {
  /** Our own when undefined. */
  readonly agent: AgentSpec | undefined;
  readonly runs: number;
  readonly only: readonly CaseName[];
  /** File for the raw figures; none is written when undefined. */
  readonly json: string | undefined;
  readonly seed: number;
  /** Keeps the machine's processors awake meanwhile. */
  readonly awake: boolean;
  readonly sizes: BenchSizes;
}

/** The text of `--help`. */
export const usage: string = `npm run bench:sync -- [options]
  --agent "<command>"    agent to measure; it reads KUBECONFIG and POD_NAMESPACE; {port} becomes a free port
  --agent-metrics <url>  its Prometheus metrics; {port} as above. Known for our own agent
  --runs 5               runs of each case; watches and soak run once
  --only a,b             of ${caseNames.join(", ")}
  --json <file>          write the raw figures
  --may-sleep            lets the machine's processors sleep between two requests
  --size 10000           claims of the settled fixture; smaller ones make all other numbers smaller, too
  --spec-bytes 2000      size of a claim's spec
  --idle-seconds 600     --soak-minutes 30     --timeout-minutes 60     --seed 1`;

/** Reads the arguments. Throws with a message for people. */
export function parseBenchOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      agent: { type: "string" },
      "agent-metrics": { type: "string" },
      runs: { type: "string", default: "5" },
      only: { type: "string", default: caseNames.join(",") },
      json: { type: "string" },
      "may-sleep": { type: "boolean", default: false },
      size: { type: "string", default: "10000" },
      "spec-bytes": { type: "string", default: "2000" },
      "idle-seconds": { type: "string", default: "600" },
      "soak-minutes": { type: "string", default: "30" },
      "timeout-minutes": { type: "string", default: "60" },
      seed: { type: "string", default: "1" },
    },
  });
  const number = (name: keyof typeof values): number => {
    const value = Number(values[name]);
    if (!(value > 0)) throw new RangeError(`--${name} must be a positive number, not "${values[name]}"`);
    return value;
  };
  const size = number("size");
  return {
    agent:
      values.agent === undefined ? undefined : { command: values.agent, metricsUrl: values["agent-metrics"] },
    runs: number("runs"),
    only: values.only.split(",").map(parseCaseName),
    json: values.json,
    seed: number("seed"),
    awake: !values["may-sleep"],
    sizes: {
      ...fullSizes,
      latencyCount: Math.min(fullSizes.latencyCount, size),
      burst: Math.min(fullSizes.burst, size),
      distantBurst: Math.min(fullSizes.distantBurst, size),
      callClaims: Math.min(fullSizes.callClaims, size),
      noopObjects: Math.min(fullSizes.noopObjects, size),
      claims: size,
      foreignSecrets: size,
      largeClaims: Math.ceil(size / 10),
      specBytes: number("spec-bytes"),
      idleSeconds: number("idle-seconds"),
      soakMinutes: number("soak-minutes"),
      timeoutMinutes: number("timeout-minutes"),
    },
  };
}

function parseCaseName(text: string): CaseName {
  const name = caseNames.find((one) => one === text.trim());
  if (name === undefined) throw new RangeError(`--only knows ${caseNames.join(", ")}, not "${text}"`);
  return name;
}
