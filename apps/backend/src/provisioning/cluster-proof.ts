/**
 * The proof in the URL of a login of earlier plugins: a signature with the app cluster's key over a challenge of ours and this login. Who
 * sees the URL can use it first, so plugins that confirm their login send none. Older ones send none either, and then nothing is proven.
 */
import { clusterProofText, verifyText } from "@klutch/api";
import { UserError } from "../errors.ts";
import type { Sealer } from "../sealed-cookie.ts";

/** A key that was proven, and the id of the proof, which lets one person join. */
export interface ProvenKey {
  readonly clusterKey: string;
  readonly proofId: string;
}

/** The proven public key; undefined when the query proves none. Throws `UserError` for a proof that does not hold. */
export type ClusterKeyOf = (
  query: Readonly<Record<string, string>>,
  login: { readonly sessionId: string; readonly clusterId: string },
) => Promise<ProvenKey | undefined>;

/** `url` is the backend's own renewal URL. */
export function createClusterKeyOf(parts: { readonly sealer: Sealer; readonly url: string }): ClusterKeyOf {
  return async ({ k: publicKey, h: challenge, g: signature }, login) => {
    if (publicKey === undefined && challenge === undefined && signature === undefined) return undefined;
    const opened = await parts.sealer.open(challenge ?? "");
    if (opened === "expired") throw refused("is older than ten minutes");
    const text = clusterProofText(parts.url, login, challenge ?? "");
    if (opened === undefined || !verifyText(publicKey ?? "", text, signature ?? "")) {
      throw refused("does not belong to this login");
    }
    return { clusterKey: publicKey ?? "", proofId: opened["nonce"] ?? "" };
  };
}

function refused(problem: string): UserError {
  return new UserError(
    400,
    `The proof that you hold this app cluster ${problem}.`,
    "Start again with kubectl bind.",
  );
}
