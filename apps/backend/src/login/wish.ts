/** Reads the wish of a plugin that takes several APIs of one login (`LoginWish`) from the query of /authorize. */
import { readWish, wishText, WireError } from "@klutch/api";
import { UserError } from "../errors.ts";
import { longestRedirectUrl } from "./redirect.ts";

/**
 * Returns the text of the wish for the session; undefined for a plugin that takes one API. Throws `UserError` 400 for one that is none, and for
 * one that does not fit into a cookie beside the redirect URL.
 */
export function wishTextOf(query: Readonly<Record<string, string>>, redirectUrl: string): string | undefined {
  const { m: value } = query;
  if (value === undefined) return undefined;
  const text = checked(value);
  if (redirectUrl.length + text.length <= longestRedirectUrl) return text;
  throw refused(
    `m and the redirect URL have ${text.length + redirectUrl.length} characters, and a login has room for ${longestRedirectUrl}`,
    "Name fewer APIs, or a service.",
  );
}

function checked(value: string): string {
  try {
    return wishText(readWish(value));
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw refused(error.message, "Start again with kubectl bind, with other values of --api or --service.");
  }
}

function refused(problem: string, advice: string): UserError {
  return new UserError(400, `This login cannot be started: ${problem}.`, advice);
}
