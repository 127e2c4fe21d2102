/** UsageLedger: what instances and backups that are gone used, as sums. See docs/cost.md. */
import type { KubeObject } from "@klutch/kube-core";
import { type CustomResourceDefinition, integer, list, object, string } from "@klutch/schema";
import type { KeptBackups } from "../backup-usage.ts";
import type { UsedSeconds } from "../usage.ts";
import { dataservicesCrd } from "./managed-common.ts";

/** Sums of backups that are gone. */
export interface LedgerBackups extends Omit<KeptBackups, "byteSeconds"> {
  /** Whole number in a text: it can be larger than a number that JSON keeps. */
  readonly byteSeconds: string;
}

/** Usage of a plan in a month, by instances and backups that are gone. */
export interface LedgerRow extends UsedSeconds {
  /** Instances that ended with this plan. */
  readonly ended: number;
  /** Default: no backup is gone, or an earlier release wrote the row. */
  readonly backups?: LedgerBackups | undefined;
}

/** A managed resource that was counted. */
export interface LedgerEntry {
  readonly uid: string;
  /** RFC 3339. */
  readonly at: string;
}

/** A year of one namespace of claims. */
export interface UsageLedger extends KubeObject {
  readonly spec: {
    readonly namespace?: string | undefined;
    readonly year: number;
    readonly rows: readonly LedgerRow[];
    readonly recorded?: readonly LedgerEntry[] | undefined;
  };
}

const count = (description: string) => integer({ minimum: 0, format: "int64", description });

/** Matches byte-seconds in a ledger. */
export const byteSecondsPattern = "^(0|[1-9][0-9]{0,29})$";

const backups = object(
  {
    made: count("Backups that were done in the month."),
    seconds: count("Seconds that backups were kept, together."),
    unsizedSeconds: count("The part of seconds of backups whose size is unknown."),
    byteSeconds: string({
      pattern: byteSecondsPattern,
      description: "Bytes times seconds of the other backups, a whole number in a text.",
    }),
  },
  {},
  { description: "Sums of backups. Default: none is gone." },
);

const row = object(
  {
    month: string({ description: "Month in UTC, such as 2026-11." }),
    service: string({ description: "Name of the offering." }),
    plan: string({ description: "Name of the plan." }),
    config: string({ description: "The ProviderConfig of the broker." }),
    seconds: count("Seconds that instances existed, together."),
    ended: count("Instances that ended with this plan."),
  },
  { backups },
);

const entry = object(
  {
    uid: string({ description: "UID of the managed resource." }),
    at: string({ format: "date-time", description: "When it was counted." }),
  },
  {},
);

/** Cluster-scoped, so that it outlives the namespaces of a tenant that leaves. */
export const usageLedgerCrd: CustomResourceDefinition = dataservicesCrd({
  kind: "UsageLedger",
  plural: "usageledgers",
  description:
    "What the instances and backups of a namespace used in a year, as far as they are gone. Written by the provider before it lets one go.",
  required: ["spec"],
  statusSubresource: false,
  categories: ["anynines"],
  fields: {
    spec: object(
      {
        year: integer({ description: "The year, in UTC." }),
        rows: list(row, { description: "Sums by month and plan." }),
      },
      {
        namespace: string({
          description: "Namespace of the claims, in the control plane. Without it, that of no claim.",
        }),
        recorded: list(entry, {
          description: "Managed resources that were counted and may not have gone yet.",
        }),
      },
      { description: "The sums." },
    ),
  },
  columns: [
    { name: "NAMESPACE", type: "string", jsonPath: ".spec.namespace" },
    { name: "YEAR", type: "integer", jsonPath: ".spec.year" },
    { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
});
