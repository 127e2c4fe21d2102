/** KonnectorRollout: which version the konnectors of many app clusters should run, and in which waves they get it (designs/0035-waves.md). */
import type { Condition, KubeObject } from "@klutch/kube-core";
import {
  boolean,
  type CustomResourceDefinition,
  customResourceDefinition,
  integer,
  list,
  map,
  object,
  oneOf,
  type Schema,
  string,
} from "@klutch/schema";
import { releaseVersionPattern } from "../konnector-updates.ts";
import { bindGroup } from "../names.ts";
import { ageColumn, bindCategories, conditions, readyColumn, readyMessageColumn } from "./common.ts";

/** App clusters that get the version together, and how long they are watched before others get it. */
export interface RolloutWave {
  /** Absent: all that are left. */
  readonly size?: number | undefined;
  readonly pauseSeconds: number;
}

export interface KonnectorRolloutSpec {
  readonly version: string;
  /** Labels of Tenants; absent: all. */
  readonly tenantLabels?: Readonly<Record<string, string>> | undefined;
  readonly waves: readonly RolloutWave[];
  readonly deadlineSeconds: number;
  readonly paused?: boolean | undefined;
}

/** An app cluster that does not run the version. */
export interface RolloutLeft {
  readonly namespace: string;
  /** The konnector's own words, cut. */
  readonly version: string;
  readonly reason: string;
}

/** The wave that ended a roll-out of one version. */
export interface RolloutStop {
  readonly version: string;
  readonly wave: number;
  readonly message: string;
}

export interface KonnectorRolloutStatus {
  readonly observedGeneration?: number | undefined;
  readonly phase?: "Progressing" | "Paused" | "Stopped" | "Completed" | undefined;
  /** Counted from 1; 0 before the first. */
  readonly wave?: number | undefined;
  /** Since when all of the wave are well, RFC 3339. */
  readonly wellSince?: string | undefined;
  readonly clusters?: number | undefined;
  readonly updated?: number | undefined;
  readonly leftCount?: number | undefined;
  readonly left?: readonly RolloutLeft[] | undefined;
  readonly stop?: RolloutStop | undefined;
  readonly conditions?: readonly Condition[] | undefined;
}

/** Cluster-scoped: no account of an app cluster can read it. */
export interface KonnectorRollout extends KubeObject {
  readonly spec: KonnectorRolloutSpec;
  readonly status?: KonnectorRolloutStatus | undefined;
}

/** More are counted, and not listed. */
export const mostLeftShown = 20;

const wave: Schema<RolloutWave> = object(
  {
    pauseSeconds: integer({
      default: 600,
      minimum: 0,
      maximum: 604_800,
      description: "Seconds for which all app clusters of the wave must be well before the next wave begins.",
    }),
  },
  {
    size: integer({
      minimum: 1,
      maximum: 10_000,
      description: "Number of app clusters. Default: all that are left.",
    }),
  },
);

const spec: Schema<KonnectorRolloutSpec> = object(
  {
    version: string({
      pattern: releaseVersionPattern,
      description:
        "Version of a release, such as v1.6.1: the tag of the image in the registry that each app cluster chose.",
    }),
    waves: list(wave, {
      minItems: 1,
      maxItems: 20,
      description: "Waves in their order. The last one is repeated until no app cluster is left.",
    }),
    deadlineSeconds: integer({
      default: 1800,
      minimum: 60,
      maximum: 604_800,
      description:
        "Seconds in which an app cluster of a wave must run the version. Later the roll-out stops.",
    }),
  },
  {
    tenantLabels: map(string({ maxLength: 63 }), {
      description:
        "Labels that a Tenant must have, such as those of a release channel. Default: all Tenants.",
    }),
    paused: boolean({ description: "Begins no further wave while it is true. Default false." }),
  },
  { description: "Which version, for whom, in which waves. Written by operators." },
);

const left: Schema<RolloutLeft> = object({
  namespace: string({ description: "Cluster namespace of the app cluster." }),
  version: string({ description: "Version that its konnector says it has." }),
  reason: string({ description: "Why it does not run the version." }),
});

const stop: Schema<RolloutStop> = object(
  {
    version: string({ description: "The version that was stopped." }),
    wave: integer({ description: "The wave that goes back to the version before." }),
    message: string({ description: "Which app cluster, and why." }),
  },
  {},
  { description: "Present once the roll-out has stopped. It holds until spec.version changes." },
);

const status: Schema<NonNullable<KonnectorRollout["status"]>> = object(
  {},
  {
    observedGeneration: integer({ format: "int64", description: "The generation that was looked at." }),
    phase: oneOf(["Progressing", "Paused", "Stopped", "Completed"], {
      description: "Completed once no app cluster is left that can follow.",
    }),
    wave: integer({ description: "The present wave, from 1; 0 before the first." }),
    wellSince: string({
      format: "date-time",
      description: "Since when all app clusters of the wave run the version and are well.",
    }),
    clusters: integer({ description: "Number of app clusters that the labels select." }),
    updated: integer({ description: "How many of them run the version." }),
    leftCount: integer({ description: "How many of them do not run it." }),
    left: list(left, {
      maxItems: mostLeftShown,
      description: `The first ${mostLeftShown} of these, and why.`,
    }),
    stop,
    conditions,
  },
  { description: "How far it is. Written by the backend." },
);

export const konnectorRolloutCrd: CustomResourceDefinition = customResourceDefinition({
  group: bindGroup,
  version: "v1alpha1",
  kind: "KonnectorRollout",
  plural: "konnectorrollouts",
  scope: "Cluster",
  categories: bindCategories,
  description: "Gives the konnectors of app clusters that follow updates a version, in waves.",
  fields: { spec, status },
  required: ["spec"],
  columns: [
    { name: "Version", type: "string", jsonPath: ".spec.version" },
    { name: "Phase", type: "string", jsonPath: ".status.phase" },
    { name: "Wave", type: "integer", jsonPath: ".status.wave" },
    { name: "Updated", type: "integer", jsonPath: ".status.updated" },
    { name: "Clusters", type: "integer", jsonPath: ".status.clusters" },
    readyColumn,
    readyMessageColumn,
    ageColumn,
  ],
});
