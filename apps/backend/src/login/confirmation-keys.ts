/** Reads the part of a login's query by which a plugin asks to confirm the login without the browser. */
import { isAnswerKey, isPublicKey } from "@klutch/api";
import { UserError } from "../errors.ts";

/** Keys of a plugin that confirms its login. Nothing is proven by them: the URL of the login may have been seen and changed. */
export interface ConfirmationKeys {
  /** Key to which the answers are sealed. */
  readonly answerKey: string;
  /** Public key of the app cluster, which must sign the confirmation. */
  readonly offeredKey: string;
}

/** Returns the keys, or undefined for a plugin that cannot confirm. Rejects with `UserError` 400 for keys that are none. */
export async function confirmationKeysOf({
  ek,
  ck,
}: Readonly<Record<string, string>>): Promise<ConfirmationKeys | undefined> {
  if (ek === undefined && ck === undefined) return undefined;
  if (ek !== undefined && isPublicKey(ck) && (await isAnswerKey(ek)))
    return { answerKey: ek, offeredKey: ck };
  throw new UserError(
    400,
    "ek and ck in the query are not the keys of a login and of an app cluster.",
    "Start again with kubectl bind.",
  );
}
