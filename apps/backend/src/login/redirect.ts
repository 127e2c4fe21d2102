/** Restricts the target of a login's redirect to loopback or an exactly listed URL. Any other would give a kubeconfig away. */
import { UserError } from "../errors.ts";
import { isLoopback } from "../secure-url.ts";

/** Maximum length of a redirect URL. A longer one would not fit into a cookie beside the rest of the session. */
export const longestRedirectUrl = 1024;

/**
 * The redirect URL from the query: `u`, or `http://localhost:<p>/callback` from `p`. Throws `UserError` 400
 * for anything that is not loopback over http or in `allowed`.
 */
export function redirectUrlOf(query: Readonly<Record<string, string>>, allowed: readonly string[]): string {
  const { u: wanted, p: port } = query;
  if (wanted === undefined && port === undefined)
    throw refused("the query has neither p (a local port) nor u (a URL)");
  if (wanted === undefined) {
    const number = Number(port);
    if (!/^\d{1,5}$/.test(port ?? "") || number < 1 || number > 65_535)
      throw refused(`p=${port ?? ""} is not a port from 1 to 65535`);
    return `http://localhost:${number}/callback`;
  }
  if (wanted.length > longestRedirectUrl) throw refused(`u is longer than ${longestRedirectUrl} characters`);
  if (!URL.canParse(wanted)) throw refused("u is not a URL");
  if (allowed.includes(wanted)) return wanted;
  const url = new URL(wanted);
  if (url.protocol !== "http:" || !isLoopback(url) || url.username !== "" || url.password !== "") {
    throw refused(`the redirect to ${url.origin} is not allowed`);
  }
  return url.href;
}

function refused(problem: string): UserError {
  return new UserError(
    400,
    `This login cannot be started: ${problem}.`,
    "Start again with kubectl bind on the machine that has access to your app cluster.",
  );
}
