/**
 * Decides the words that a developer reads about a claim from the conditions of its managed resource. No I/O.
 *
 * | the managed resource says, of the spec that is wanted now | Ready           | Synced | problem |
 * |------------------------------------------------------------|-----------------|--------|---------|
 * | Synced False: Failed                                       | False, the same | False  | yes     |
 * | Synced False: Refused, BrokerUnreachable, NoBroker; another: Failed | as it is; else False, the same | False | yes |
 * | Synced False: RotationIncomplete                           | as it is        | False  | yes     |
 * | Synced False: ReconcilePaused                              | as it is; else False, Paused   | False | no  |
 * | Synced False: WaitingForInstance, …Backup, …Restore        | as it is; else False, the same | True  | no  |
 * | Synced False: BrokerBusy, Still…, another WaitingFor…      | as it is; else False, the action | True | no |
 * | Ready True                                                 | True            | True   | no      |
 * | Ready False: Creating, Changing, Deleting                  | False, the same | True   | no      |
 * | Ready False: Failed, Lost, BackupNotUsable                 | False, the same | True   | yes     |
 * | Ready False: Deleted                                       | False, the same | True   | no      |
 * | Ready False, with another reason                           | False, Unavailable | True | no     |
 * | nothing yet                                                | False, the action   | True | no     |
 *
 * The action: Deleting; Changing, when it was ready once; else Creating.
 */
import type { ComposeCondition } from "@klutch/crossplane";
import { readyWordsCondition, syncedWordsCondition } from "@klutch/api";
import type { UsualTimes } from "@klutch/services";
import type { ManagedState, ReportedCondition } from "./managed-state.ts";

/** Further inputs of the words. */
export interface WordsContext {
  readonly usual: UsualTimes;
  /** Milliseconds since the epoch; without it nothing takes longer than usual. */
  readonly now: number | undefined;
  /** True if the claim can be changed; else the user must create another one. */
  readonly isChangeable: boolean;
  /** Claim fields to change: the first group with a word that the refusal contains counts. */
  readonly blame: readonly Blame[];
}

/** Maps a word of a refusal to the claim field that it comes from. */
export type Blame = ReadonlyMap<string, string>;

/** Conditions for composite and claim, and the problem that people should see as an event. */
export interface Words {
  readonly isReady: boolean;
  readonly conditions: readonly ComposeCondition[];
  readonly problem: string | undefined;
}

type Progress = "Creating" | "Changing" | "Deleting";
type Reason =
  | Progress
  | "WaitingForInstance"
  | "WaitingForBackup"
  | "WaitingForRestore"
  | "Refused"
  | "BrokerUnreachable"
  | "NoBroker"
  | "Failed"
  | "RotationIncomplete"
  | "Lost"
  | "Deleted"
  | "BackupNotUsable"
  | "Paused"
  | "Unavailable";

/** Reason why it is not ready, or a problem although it is. */
interface Verdict {
  readonly reason: Reason;
  readonly said: string;
  readonly isProblem: boolean;
  /** `Synced` says so, too. */
  readonly isOutOfSync: boolean;
  /** True if the wanted state is not reached, whatever `Ready` says. */
  readonly isUnmet: boolean;
}

/** The words for a managed resource. */
export function wordsOf(state: ManagedState, context: WordsContext): Words {
  const verdict = verdictOf(state);
  const isReady = state.ready?.status === "True" && verdict?.isUnmet !== true;
  const message = verdict === undefined ? "" : sentence(verdict, state, context);
  const good = { type: readyWordsCondition, status: "True", reason: "Available" } as const;
  const inSync = { type: syncedWordsCondition, status: "True", reason: "ReconcileSuccess" } as const;
  const bad = { status: "False", reason: verdict?.reason ?? "", message } as const;
  return {
    isReady,
    conditions: [
      isReady ? good : { type: readyWordsCondition, ...bad },
      verdict?.isOutOfSync === true ? { type: syncedWordsCondition, ...bad } : inSync,
    ],
    problem: verdict?.isProblem === true ? message : undefined,
  };
}

/** Judges the state. Returns undefined if all is well. */
function verdictOf(state: ManagedState): Verdict | undefined {
  const { ready, synced } = state;
  if (synced?.status === "False") return ofSynced(synced, state);
  if (ready?.status === "True") return undefined;
  const calm = { said: ready?.message ?? "", isProblem: false, isOutOfSync: false, isUnmet: false };
  if (ready === undefined) return { ...calm, reason: progressOf(state) };
  switch (ready.reason) {
    case "Creating":
    case "Changing":
    case "Deleting":
    case "Deleted":
      return { ...calm, reason: ready.reason };
    case "Failed":
    case "Lost":
    case "BackupNotUsable":
      return { ...calm, reason: ready.reason, isProblem: true };
    default:
      return { ...calm, reason: "Unavailable" };
  }
}

function ofSynced({ reason, message }: ReportedCondition, state: ManagedState): Verdict {
  const calm = { said: message, isProblem: false, isOutOfSync: false, isUnmet: false };
  const bad = { ...calm, isProblem: true, isOutOfSync: true };
  switch (reason) {
    case "Failed":
      return { ...bad, reason, isUnmet: true };
    case "Refused":
    case "BrokerUnreachable":
    case "NoBroker":
    case "RotationIncomplete":
      return { ...bad, reason };
    case "ReconcilePaused":
      return { ...calm, reason: "Paused", isOutOfSync: true };
    case "WaitingForInstance":
    case "WaitingForBackup":
    case "WaitingForRestore":
      return { ...calm, reason };
    default:
      return /^(BrokerBusy$|Still|WaitingFor)/.test(reason)
        ? { ...calm, reason: progressOf(state) }
        : { ...bad, reason: "Failed" };
  }
}

function progressOf({ isDeleting, wasReady }: ManagedState): Progress {
  if (isDeleting) return "Deleting";
  return wasReady ? "Changing" : "Creating";
}

/** Joins the backend's words with the expectation or the next step. */
function sentence(verdict: Verdict, state: ManagedState, context: WordsContext): string {
  const parts = [
    verdict.said === "" ? plainly[verdict.reason] : verdict.said,
    advice(verdict, state, context),
  ];
  return parts
    .map((part) => part.replace(/[.;\s]+$/, ""))
    .filter((part) => part !== "")
    .join("; ");
}

/** Messages for a managed resource without a message of its own. */
const plainly: Readonly<Record<Reason, string>> = {
  Creating: "it is being created",
  Changing: "the change is in progress",
  Deleting: "it is being deleted",
  WaitingForInstance: "the instance is not ready",
  WaitingForBackup: "the backup is not ready",
  WaitingForRestore: "another restore is running",
  Refused: "the broker refused it",
  BrokerUnreachable: "the broker cannot be reached",
  NoBroker: "no broker here serves this type",
  Failed: "the broker failed",
  RotationIncomplete: "the credentials could not be rotated",
  Lost: "the broker no longer knows it",
  Deleted: "the backup manager no longer has it",
  BackupNotUsable: "the backup cannot be used",
  Paused: "it is paused on the control plane, by the annotation crossplane.io/paused of its managed resource",
  Unavailable: "it cannot be used at the moment",
};

function advice({ reason, said, isUnmet }: Verdict, state: ManagedState, context: WordsContext): string {
  const asBefore = state.wasReady ? "; until then it stays as it was" : "";
  switch (reason) {
    case "Creating":
    case "Changing":
    case "Deleting":
      return expectation(reason, state, context);
    case "Refused":
      return context.isChangeable
        ? `change ${fieldsToBlame(said, context.blame)}${asBefore}`
        : anotherUnless(said);
    case "Failed":
      if (!isUnmet && state.synced?.status === "False") return "it is retried automatically";
      return context.isChangeable ? `change the claim's spec to try again${asBefore}` : anotherUnless(said);
    case "BrokerUnreachable":
      return "it is retried automatically, and nothing in the claim has to change";
    case "RotationIncomplete":
      return "those in the Secret work, and it is retried automatically";
    case "NoBroker":
    case "Paused":
      return "ask the operators of the control plane";
    case "WaitingForInstance":
      return "it continues automatically when the instance is ready";
    case "WaitingForBackup":
    case "WaitingForRestore":
      return "it continues automatically";
    case "Lost":
    case "Deleted":
    case "BackupNotUsable":
    case "Unavailable":
      return "";
  }
}

/** Some say it themselves. */
function anotherUnless(said: string): string {
  return /\b(?:make|create) another\b/.test(said) ? "" : "delete this claim and create another";
}

/** Words after which a broker lists the allowed values. */
const possible = /\b(?:allowed|expected|must|possible|supported values|valid)\b/i;

/** Lists the fields in a fixed order, so that the text changes only with its content. */
function fieldsToBlame(said: string, blame: readonly Blame[]): string {
  const fieldsIn = (text: string): readonly string[] => {
    const words = new Set(text.split(/[^\w-]+/));
    const groups = blame.map((group) =>
      [...group].filter(([word]) => words.has(word)).map(([, field]) => field),
    );
    return groups.find((fields) => fields.length > 0) ?? [];
  };
  const accused = fieldsIn(said.split(possible, 1)[0] ?? "");
  const fields = accused.length > 0 ? accused : fieldsIn(said);
  return fields.length === 0 ? "the claim's spec" : [...new Set(fields)].toSorted().join(", ");
}

const ends = {
  Creating: ["create", "ready"],
  Changing: ["change", "ready"],
  Deleting: ["delete", "gone"],
} as const;

/** A text counts no time, so that it changes only when something does. */
function expectation(progress: Progress, { since }: ManagedState, { usual, now }: WordsContext): string {
  const [operation, end] = ends[progress];
  const usualMs = usual[operation];
  if (usualMs === undefined) return "";
  const started = since[operation];
  const isLate = now !== undefined && started !== undefined && now - started > usualMs;
  return isLate
    ? `it takes longer than usual, which is ${printed(usualMs)}`
    : `usually ${end} within ${printed(usualMs)}`;
}

/** `15 m`, in the largest unit that leaves no rest. */
function printed(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000} h`;
  return ms % 60_000 === 0 ? `${ms / 60_000} m` : `${Math.ceil(ms / 1000)} s`;
}
