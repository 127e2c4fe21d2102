/** Lets each proof of an app cluster's key count once, at any replica: the tenant's namespace lists those of the last ten minutes. */
import { createHash } from "node:crypto";
import { isRecord, type KubeObject } from "@klutch/kube-core";
import { UserError } from "../errors.ts";
import type { Identity } from "../identity.ts";

/** Annotation on a cluster namespace: a JSON list of `{id, at, by}`; `at` in milliseconds since 1970, `by` a hash of the person. */
export const usedProofsAnnotation = "klutch.anynines.com/used-logins";

/** Longer than any proof or ticket is valid. */
const keptMs = 660_000;
/** Logins in that time: of one tenant, and of one person, so that a member cannot lock the others out. */
const most = 200;
const mostOfPerson = 40;

/** One use of a proof. */
interface Use {
  readonly id: string;
  readonly at: number;
  readonly by: string;
}

/**
 * Returns the annotation that records the proof; nothing without a proof. Throws `UserError` if it was used before. The caller writes it with
 * the resource version of `tenant`, so that one of two requests at the same time fails.
 */
export function withProof(
  tenant: Pick<KubeObject, "metadata"> | undefined,
  proof: { readonly id: string } | undefined,
  { issuer, subject }: Identity,
  now: number,
): Readonly<Record<string, string>> {
  if (proof === undefined || proof.id === "") return {};
  const used = usedIn(tenant?.metadata.annotations?.[usedProofsAnnotation]).filter(
    ({ at }) => now - at < keptMs,
  );
  if (used.some(({ id }) => id === proof.id))
    throw new UserError(409, "This login has been used already.", "Start again with kubectl bind.");
  const by = createHash("sha256")
    .update(JSON.stringify([issuer, subject]))
    .digest("base64url")
    .slice(0, 16);
  if (used.length >= most || used.filter((one) => one.by === by).length >= mostOfPerson)
    throw new UserError(429, "Too many logins for this app cluster.", "Try again in ten minutes.");
  return { [usedProofsAnnotation]: JSON.stringify([...used, { id: proof.id, at: now, by }]) };
}

function usedIn(text: string | undefined): readonly Use[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(value) ? value.flatMap(entryOf) : [];
  } catch {
    return [];
  }
}

function entryOf(value: unknown): Use[] {
  if (!isRecord(value)) return [];
  const { id, at, by } = value;
  return typeof id === "string" && typeof at === "number" && typeof by === "string" ? [{ id, at, by }] : [];
}
