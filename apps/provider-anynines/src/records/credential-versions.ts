/**
 * The record of a binding's generations at its broker, as an annotation of the managed resource. Generation 0 is the first binding. Each
 * rotation makes the next one, and the ones before it are unbound later. It is written before each call, so a crash at any point leaves
 * a trace that names everything that may be at the broker. The ids follow from the managed resource, so a repeated call has the same.
 */
import { createHash } from "node:crypto";
import { ExternalError, type Managed } from "@klutch/crossplane";
import { isRecord } from "@klutch/kube-core";
import { type AnnotationChanges, bindingGenerationsAnnotation } from "./annotations.ts";

/** The plan that a generation was bound with. */
export interface BoundPlan {
  readonly serviceId: string;
  readonly planId: string;
}

/** What is tried again, and when. */
interface Tried {
  /** How often it failed. */
  readonly tries: number;
  /** What went wrong last, in words. */
  readonly failure?: string | undefined;
  /** Not looked at before; milliseconds since the epoch. */
  readonly againAt?: number | undefined;
  /** The broker accepted and works: its key for the operation, empty when it gave none. */
  readonly key?: string | undefined;
}

/** The generation after the current one. */
export interface NextGeneration extends BoundPlan, Tried {
  /**
   * `calling`: a bind whose answer is not known. `polling`: the broker accepted the bind and works. `made`: its credentials were good, and the
   * Secret may hold them. `discarding`: it is not used, and may be at the broker. `failed`: nothing of it is at the broker.
   */
  readonly phase: (typeof phases)[number];
  /** The text that asked for it. */
  readonly request: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

/** A generation that was replaced and is not unbound yet. */
export interface OldGeneration extends BoundPlan, Tried {
  readonly number: number;
  /** Since when the Secret holds newer credentials; milliseconds since the epoch. */
  readonly replacedAt: number;
}

/** All generations of a binding that may be at its broker. */
export interface Generations {
  /** Number of the one whose credentials the Secret holds. */
  readonly current: number;
  /** The text that the current one answers. */
  readonly request?: string | undefined;
  /** When the last rotation was done; milliseconds since the epoch. */
  readonly rotatedAt?: number | undefined;
  readonly next?: NextGeneration | undefined;
  /** In the order in which they were replaced. */
  readonly old: readonly OldGeneration[];
}

const phases = ["calling", "polling", "made", "discarding", "failed"] as const;
const none: Generations = { current: 0, old: [] };

/** Id at the broker of a generation. The first has the managed resource's UID, as bindings of the existing provider have. */
export function bindingIdOf({ metadata }: Managed, number: number): string {
  const { uid = "" } = metadata;
  if (number === 0) return uid;
  const hex = createHash("sha256").update(`${uid}/binding/${number}`).digest("hex");
  const [variant, version] = [`8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`];
  return [hex.slice(0, 8), hex.slice(8, 12), variant, version, hex.slice(20, 32)].join("-");
}

/** The recorded generations. Throws `ExternalError` for a record that cannot be read: it may name logins that nothing else remembers. */
export function recordedGenerations({ metadata }: Managed): Generations {
  const text = metadata.annotations?.[bindingGenerationsAnnotation];
  if (text === undefined) return none;
  const record = readGenerations(text);
  if (record !== undefined) return record;
  throw new ExternalError(
    `the annotation ${bindingGenerationsAnnotation} cannot be read; put back what the provider wrote, or remove it to go on with the ` +
      "first credentials of this binding",
  );
}

/** What to write. */
export function generationsChange(generations: Generations): AnnotationChanges {
  return { [bindingGenerationsAnnotation]: JSON.stringify(generations) };
}

function readGenerations(text: string): Generations | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
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

function readNext(value: unknown): NextGeneration | undefined {
  if (!isRecord(value)) return undefined;
  const phase = phases.find((known) => known === value["phase"]);
  const [request, startedAt] = [textOf(value["request"]), numberOf(value["startedAt"])];
  if (phase === undefined || request === undefined || startedAt === undefined) return undefined;
  return { ...readTried(value), ...readPlan(value), phase, request, startedAt };
}

function readOld(value: unknown): OldGeneration | undefined {
  if (!isRecord(value)) return undefined;
  const { number, replacedAt } = value;
  if (!isCount(number) || typeof replacedAt !== "number") return undefined;
  return { ...readTried(value), ...readPlan(value), number, replacedAt };
}

function readTried(value: Readonly<Record<string, unknown>>): Tried {
  return {
    tries: numberOf(value["tries"]) ?? 0,
    failure: textOf(value["failure"]),
    againAt: numberOf(value["againAt"]),
    key: textOf(value["key"]),
  };
}

function readPlan(value: Readonly<Record<string, unknown>>): BoundPlan {
  return { serviceId: textOf(value["serviceId"]) ?? "", planId: textOf(value["planId"]) ?? "" };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
