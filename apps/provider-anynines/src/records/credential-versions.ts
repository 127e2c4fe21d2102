/**
 * The record of a binding's credential versions at its broker, as an annotation of the managed resource. Version 0 is the first binding. Each
 * rotation makes the next version, and the ones before it are unbound later. The record is written before each call, so a crash at any point
 * leaves a trace that names everything that may be at the broker. The ids follow from the managed resource, so a repeated call has the same.
 */
import { bindingGenerationsAnnotation } from "@klutch/api";
import { ExternalError, type Managed } from "@klutch/crossplane";
import { isRecord } from "@klutch/kube-core";
import type { AnnotationChanges } from "./annotations.ts";
import type { Operation } from "./operation.ts";
import { derivedId, numberOf, parsedJson, textOf } from "./values.ts";

/** The version after the current one. */
export interface NextVersion {
  /** The text that asked for it. */
  readonly request: string;
  /**
   * A create that is `made` has good credentials, and the Secret may hold them. A discard is not used, and may be at the broker. Of a failed
   * create nothing is at the broker.
   */
  readonly operation: Operation;
}

/** A version that was replaced and is not unbound yet. */
export interface OldVersion {
  readonly number: number;
  /** Since when the Secret holds newer credentials; milliseconds since the epoch. */
  readonly replacedAt: number;
  /** Its deletion. */
  readonly operation: Operation;
}

/** All versions of a binding that may be at its broker. */
export interface CredentialVersions {
  /** Number of the version whose credentials the Secret holds. */
  readonly current: number;
  /** The text that the current version answers. */
  readonly request?: string | undefined;
  /** When the last rotation was done; milliseconds since the epoch. */
  readonly rotatedAt?: number | undefined;
  readonly next?: NextVersion | undefined;
  /** In the order in which they were replaced. */
  readonly old: readonly OldVersion[];
}

const phases = ["calling", "polling", "made", "discarding", "failed"] as const;
const none: CredentialVersions = { current: 0, old: [] };

/** Returns a version's id at the broker. The first has the managed resource's UID, as bindings of the existing provider have. */
export function bindingIdOf({ metadata }: Managed, number: number): string {
  const { uid = "" } = metadata;
  return number === 0 ? uid : derivedId(`${uid}/binding/${number}`);
}

/** Reads the annotation. Throws `ExternalError` for a text that cannot be read: it may name logins that nothing else remembers. */
export function recordedVersions(text: string | undefined): CredentialVersions {
  if (text === undefined) return none;
  const versions = readVersions(text);
  if (versions !== undefined) return versions;
  throw new ExternalError(
    `the annotation ${bindingGenerationsAnnotation} cannot be read; put back what the provider wrote, or remove it to go on with the ` +
      "first credentials of this binding",
  );
}

/** Returns the annotation to write. */
export function versionsChange({ next, old, ...versions }: CredentialVersions): AnnotationChanges {
  const written = {
    ...versions,
    next:
      next === undefined ? undefined : { ...wireOf(next.operation), phase: phaseOf(next), ...startOf(next) },
    old: old.map(({ number, replacedAt, operation }) => ({ ...wireOf(operation), number, replacedAt })),
  };
  return { [bindingGenerationsAnnotation]: JSON.stringify(written) };
}

function startOf({ request, operation }: NextVersion): object {
  return { request, startedAt: operation.startedAt };
}

function phaseOf({ operation: { type, phase } }: NextVersion): (typeof phases)[number] {
  return type === "discard" ? "discarding" : phase;
}

/** A key, even an empty one, says that the broker works. */
function wireOf({ failures = 0, failure, againAt, phase, key = "", serviceId, planId }: Operation): object {
  return { tries: failures, failure, againAt, key: phase === "polling" ? key : undefined, serviceId, planId };
}

function readVersions(text: string): CredentialVersions | undefined {
  const value = parsedJson(text);
  if (!isRecord(value) || !isCount(value["current"]) || !Array.isArray(value["old"])) return undefined;
  const next = value["next"] === undefined ? undefined : readNext(value["next"]);
  const old = value["old"].map(readOld);
  const known = old.filter((one) => one !== undefined);
  if (known.length !== old.length || (value["next"] !== undefined && next === undefined)) return undefined;
  return {
    current: value["current"],
    request: textOf(value["request"]),
    rotatedAt: numberOf(value["rotatedAt"]),
    next,
    old: known,
  };
}

function readNext(value: unknown): NextVersion | undefined {
  if (!isRecord(value)) return undefined;
  const phase = phases.find((known) => known === value["phase"]);
  const [request, startedAt] = [textOf(value["request"]), numberOf(value["startedAt"])];
  if (phase === undefined || request === undefined || startedAt === undefined) return undefined;
  const read = readOperation(value);
  if (phase === "discarding") return { request, operation: { ...read, type: "discard", startedAt } };
  return { request, operation: { ...read, type: "create", phase, startedAt } };
}

function readOld(value: unknown): OldVersion | undefined {
  if (!isRecord(value)) return undefined;
  const { number, replacedAt } = value;
  if (!isCount(number) || typeof replacedAt !== "number") return undefined;
  const operation = { ...readOperation(value), type: "delete", startedAt: replacedAt } as const;
  return { number, replacedAt, operation };
}

function readOperation(value: Readonly<Record<string, unknown>>): Omit<Operation, "type" | "startedAt"> {
  const key = textOf(value["key"]);
  return {
    phase: key === undefined ? "calling" : "polling",
    key: key || undefined,
    failures: numberOf(value["tries"]) ?? 0,
    failure: textOf(value["failure"]),
    againAt: numberOf(value["againAt"]),
    serviceId: textOf(value["serviceId"]) ?? "",
    planId: textOf(value["planId"]) ?? "",
  };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
