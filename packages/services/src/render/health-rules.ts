/**
 * Translates a claim's conditions for a tool that waits for it. One source; printed as Lua for Argo CD and as CEL for Flux.
 *
 * | the claim                                                               | Argo CD     | Flux       |
 * |-------------------------------------------------------------------------|-------------|------------|
 * | is being deleted                                                        | Progressing | InProgress |
 * | `status.observedGeneration` is not its generation; `Ready` is of before | Progressing | InProgress |
 * | `Reconciling` True                                                      | Progressing | InProgress |
 * | `Stalled` True                                                          | Degraded    | Failed     |
 * | `Ready` False, or `Synced` False, and people have to do something       | Degraded    | Failed     |
 * | `Ready` False, and what was asked for has been done and is over         | Healthy     | Current    |
 * | `Ready` or `Synced` says that it is paused                              | Suspended   | Current when `Ready` is True, else InProgress |
 * | `Ready` True                                                            | Healthy     | Current    |
 * | anything else                                                           | Progressing | InProgress |
 *
 * The first row that fits decides. A condition of a generation before the claim's says nothing.
 */
import { listAt, textAt } from "@klutch/kube-core";
import type { CompositeResourceDefinition } from "../xrd.ts";

/** Reasons by what they mean, for one kind. */
export interface HealthRules {
  readonly group: string;
  readonly version: string;
  /** Kind of the claims. */
  readonly kind: string;
  /** Reasons of `Ready` False that do not pass without a person. */
  readonly failed: readonly string[];
  /** Reasons of `Synced` False: the spec differs from the service, and stays so without a person, even while `Ready` is True. */
  readonly outOfSync: readonly string[];
  /** Reasons of `Ready` False after the claim had its effect: nothing more happens. */
  readonly over: readonly string[];
  /** Reasons of either condition that wait for a person. */
  readonly paused: readonly string[];
}

/** A broker that cannot be reached is not among them: it is retried automatically. */
const failed = [
  "BackupNotUsable",
  "CannotCompose",
  "CreationHeld",
  "DeletionHeld",
  "Failed",
  "Lost",
  "NameTaken",
  "NoBroker",
  "NoOrganization",
  "Refused",
  "RegionMisconfigured",
  "RegionNotAvailable",
  "SecretTypeRefused",
  "TooManyObjects",
];
const gone = "Deleted";

/** Retention deletes backups as requested: such a backup is over. A restore that the manager no longer knows has failed. */
const deletedByRetention = "Backup";

/** The rules for the claims of a definition. */
export function healthRulesOf({ spec }: CompositeResourceDefinition): HealthRules {
  const kind = textAt(spec, "claimNames", "kind") ?? textAt(spec, "names", "kind") ?? "";
  const isOver = kind === deletedByRetention;
  return {
    group: textAt(spec, "group") ?? "",
    version: textAt(listAt(spec, "versions")[0], "name") ?? "",
    kind,
    failed: isOver ? failed : [...failed, gone],
    outOfSync: [
      "Failed",
      "NoBroker",
      "NoOrganization",
      "Refused",
      "RegionMisconfigured",
      "RegionNotAvailable",
    ],
    over: isOver ? [gone] : [],
    paused: ["Paused", "ReconcilePaused"],
  };
}
