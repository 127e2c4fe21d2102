/** Credentials of a broker as keys of a Secret. */
import {
  connectionAnnotation,
  instanceTypeLabel,
  type ManagedServiceBinding,
  type ServiceInstance,
} from "@klutch/api";
import type { ConnectionDetails } from "@klutch/crossplane";
import { isRecord, jsonEqual } from "@klutch/kube-core";
import { type ConnectionSource, readConnectionText, serviceOfType } from "@klutch/services";
import { brokerText } from "../operations/answers.ts";

/**
 * Nested objects joined with `.`, other characters than letters, digits, `-`, `_` and `.` replaced by `_`. Lists of plain values keep
 * the existing form `[a b]`; numbers and everything else are printed without loss.
 */
export function flattenCredentials(
  credentials: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const flat = new Map<string, string>();
  flattenInto(flat, "", credentials);
  // A root key whose value stands again under the same last name in a nested object says nothing new.
  const nested = [...flat].filter(([key]) => key.includes("."));
  const repeated = [...flat].filter(
    ([key, value]) =>
      !key.includes(".") && nested.some(([other, same]) => other.endsWith(`.${key}`) && same === value),
  );
  for (const [key] of repeated) flat.delete(key);
  return Object.fromEntries(flat);
}

function flattenInto(
  flat: Map<string, string>,
  prefix: string,
  value: Readonly<Record<string, unknown>>,
): void {
  for (const [name, field] of Object.entries(value)) {
    const key = `${prefix}${name.replaceAll(/[^-._a-zA-Z0-9]/g, "_")}`;
    if (field === null || field === undefined) continue;
    if (isRecord(field)) flattenInto(flat, `${key}.`, field);
    else flat.set(key, printed(field));
  }
}

function printed(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((item) => typeof item !== "object"))
    return `[${value.map(String).join(" ")}]`;
  return JSON.stringify(value);
}

/** Undefined: they can. Names keys and never a value. */
export function credentialsProblem(
  fresh: ConnectionDetails,
  published: ConnectionDetails | undefined,
): string | undefined {
  if (Object.keys(fresh).length === 0) return "the broker gave no credentials";
  if (published === undefined) return undefined;
  const lacking = Object.keys(published).filter((key) => (fresh[key] ?? "") === "" && published[key] !== "");
  if (lacking.length > 0)
    return brokerText(`the broker gave credentials without ${lacking.toSorted().join(", ")}`);
  return jsonEqual(fresh, published) ? "the broker gave the same credentials again" : undefined;
}

/** `connection` is undefined when it is not known; `problem` tells people that an annotation is not understood. */
export interface KnownConnection {
  readonly connection?: readonly ConnectionSource[] | undefined;
  readonly problem?: string | undefined;
}

/**
 * From the annotation of the binding's instance, which is read as a stranger's. Instances that were composed before there was one, and those
 * whose annotation is not understood, are taken for those of the shipped service of the binding's type, if there is one.
 */
export function connectionOf(
  { metadata }: ManagedServiceBinding,
  instance: ServiceInstance | undefined,
): KnownConnection {
  const text = instance?.metadata.annotations?.[connectionAnnotation];
  const read = text === undefined ? undefined : readConnectionText(text);
  if (read !== undefined && "connection" in read) return read;
  const shipped = serviceOfType(metadata.labels?.[instanceTypeLabel] ?? "");
  return {
    connection: shipped?.connection,
    problem: read === undefined ? undefined : notUnderstood(instance, shipped?.title, read.problem),
  };
}

function notUnderstood(
  instance: ServiceInstance | undefined,
  title: string | undefined,
  problem: string,
): string {
  const instead =
    title === undefined
      ? "the connection details of the binding stay as they are"
      : `it is taken for that of ${title}`;
  return (
    `annotation ${connectionAnnotation} of ServiceInstance ${instance?.metadata.name ?? ""} is not understood, so ${instead}: ${problem}. ` +
    "Remove the annotation; the composition function writes it again"
  );
}
