/**
 * The canary as a state machine: one probe at a time, judged by this process' monotonic clock only (designs/0031).
 *
 * | seen                                            | becomes                          |
 * |-------------------------------------------------|----------------------------------|
 * | the number of the open probe is answered        | `answered`, or `late`            |
 * | any other number is answered                    | nothing                          |
 * | the next probe is due, and numbers are answered  | `lost`                           |
 * | the next probe is due, and none ever was         | `unsupported`; the next one waits |
 */

/** The result of one probe. */
export const outcomes = ["answered", "late", "lost", "refused", "unreachable", "unsupported"] as const;
export type Outcome = (typeof outcomes)[number];

/** All times are monotonic milliseconds. */
export interface ProbeState {
  /** The probe that waits for its answer. */
  readonly open?: { readonly number: number; readonly sentAt: number } | undefined;
  readonly nextAt: number;
}

/** Times in milliseconds. */
export interface ProbeTiming {
  readonly canaryMs: number;
  readonly canaryLateMs: number;
}

/** One step. */
export interface Verdict {
  readonly state: ProbeState;
  readonly outcome?: Outcome | undefined;
  /** Present with `answered` and `late`. */
  readonly lagMs?: number | undefined;
}

/** Probes that are left out where none is answered: the control plane may be upgraded. */
const restProbes = 10;

/** Returns the state before the first probe. Agents that start together do not send together. */
export function firstState(now: number, random: number, { canaryMs }: ProbeTiming): ProbeState {
  return { nextAt: now + random * canaryMs };
}

/** Judges the open probe. `answered`: the number in the ClusterBinding, if it has one. */
export function judge(
  state: ProbeState,
  answered: number | undefined,
  now: number,
  timing: ProbeTiming,
): Verdict {
  const { open, nextAt } = state;
  if (open === undefined) return { state };
  if (answered === open.number) {
    const lagMs = now - open.sentAt;
    return { state: { nextAt }, outcome: lagMs > timing.canaryLateMs ? "late" : "answered", lagMs };
  }
  if (now < nextAt) return { state };
  if (answered !== undefined) return { state: { nextAt }, outcome: "lost" };
  return { state: { nextAt: now + restProbes * timing.canaryMs }, outcome: "unsupported" };
}

/** Returns true if a probe is to be sent now. */
export function isDue({ open, nextAt }: ProbeState, now: number): boolean {
  return open === undefined && now >= nextAt;
}

/** The server's answer to a write. `dropped`: it does not know the field. */
export type Sending = "kept" | "dropped" | "refused" | "unreachable";

/** Notes how a probe was sent. `isAnswering`: this control plane has answered probes. One that never did has no canary, also while it is away. */
export function sent(
  probe: { readonly number: number; readonly sentAt: number },
  sending: Sending,
  isAnswering: boolean,
  { canaryMs }: ProbeTiming,
): Verdict {
  const nextAt = probe.sentAt + canaryMs;
  if (sending === "kept") return { state: { open: probe, nextAt } };
  if (sending === "dropped")
    return {
      state: { nextAt: probe.sentAt + restProbes * canaryMs },
      outcome: "unsupported",
    };
  return { state: { nextAt }, outcome: isAnswering ? sending : undefined };
}
