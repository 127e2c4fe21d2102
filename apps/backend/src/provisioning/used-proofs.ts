/** Lets each proof of an app cluster's key count once, at any replica: the tenant's namespace lists those of the last ten minutes. */
import { isRecord, type KubeObject } from "@klutch/kube-core";
import { UserError } from "../errors.ts";

/** Annotation on a cluster namespace: a JSON list of `{id, at}`; `at` in milliseconds since 1970. */
export const usedProofsAnnotation = "klutch.anynines.com/used-logins";

/** Longer than any proof or ticket is valid. */
const keptMs = 660_000;
/** Logins of one tenant in that time. */
const most = 50;

/**
 * Returns the annotation that records the proof; nothing without a proof. Throws `UserError` if it was used before. The caller writes it with
 * the resource version of `tenant`, so that one of two requests at the same time fails.
 */
export function withProof(
  tenant: Pick<KubeObject, "metadata"> | undefined,
  proof: { readonly id: string } | undefined,
  now: number,
): Readonly<Record<string, string>> {
  if (proof === undefined || proof.id === "") return {};
  const used = usedIn(tenant?.metadata.annotations?.[usedProofsAnnotation]).filter(
    ({ at }) => now - at < keptMs,
  );
  if (used.some(({ id }) => id === proof.id))
    throw new UserError(409, "This login has been used already.", "Start again with kubectl bind.");
  if (used.length >= most)
    throw new UserError(429, "Too many people logged in for this app cluster.", "Try again in ten minutes.");
  return { [usedProofsAnnotation]: JSON.stringify([...used, { id: proof.id, at: now }]) };
}

function usedIn(text: string | undefined): readonly { readonly id: string; readonly at: number }[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(value) ? value.flatMap(entryOf) : [];
  } catch {
    return [];
  }
}

function entryOf(value: unknown): { readonly id: string; readonly at: number }[] {
  if (!isRecord(value)) return [];
  const { id, at } = value;
  return typeof id === "string" && typeof at === "number" ? [{ id, at }] : [];
}
