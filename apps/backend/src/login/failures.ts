/** Words the failure of a login for the person who logs in. No message repeats a token or a code. */
import { plainText } from "@klutch/kube-core";
import { errors } from "jose";
import { AuthorizationResponseError, ResponseBodyError } from "openid-client";
import { UserError } from "../errors.ts";

/** Next step after a failed login. */
export const startAgain = "Start again with kubectl bind.";

/** Returns true if the identity provider did not answer, or not as one: the login itself is not at fault. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof UserError || error instanceof ResponseBodyError) return false;
  if (isResponse(error)) return error.status >= 500;
  if (!(error instanceof Error)) return false;
  if (error instanceof errors.JOSEError) {
    return ["ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID", "ERR_JOSE_GENERIC"].includes(error.code);
  }
  if (error.name === "TimeoutError" || (error instanceof TypeError && error.message === "fetch failed")) {
    return true;
  }
  return isUnavailable(error.cause);
}

/** Recognizes answers of `fetch` also after the HTTP server has put a faster class in the place of the global one. */
function isResponse(value: unknown): value is Response {
  return Object.prototype.toString.call(value) === "[object Response]";
}

/** The error as a page shows it. */
export function translate(error: unknown): unknown {
  if (error instanceof UserError) return error;
  if (error instanceof AuthorizationResponseError) {
    return new UserError(401, `The identity provider refused the login: ${saidBy(error)}.`, startAgain, {
      cause: error,
    });
  }
  if (error instanceof ResponseBodyError) {
    return new UserError(
      401,
      `The identity provider did not accept the login: ${saidBy(error)}.`,
      startAgain,
      {
        cause: error,
      },
    );
  }
  return new UserError(401, `The login could not be verified: ${reasonOf(error)}.`, startAgain, {
    cause: error,
  });
}

/** Words the failure of an access token for the program that sent it. */
export function translateToken(cause: unknown): UserError {
  const why = cause instanceof errors.JWTExpired ? "it has expired" : reasonOf(cause);
  const advice =
    "Request a new access token by client credentials, with the scope and client that the platform operator named.";
  return new UserError(401, `The access token is not accepted: ${why}.`, advice, { cause });
}

/** Words the failure of a logout token for the identity provider that sent it. */
export function translateLogout(cause: unknown): UserError {
  const why = cause instanceof errors.JWTExpired ? "it has expired" : reasonOf(cause);
  const advice = "Send a logout token as OpenID Connect Back-Channel Logout 1.0 says.";
  return new UserError(400, `The logout token is not accepted: ${why}.`, advice, { cause });
}

/** Shortens the provider's own words to one line, because anybody can put them into a link. */
export function saidBy({
  error,
  error_description: more,
}: AuthorizationResponseError | ResponseBodyError): string {
  return plainText([error, more].filter(Boolean).join(": "), 200);
}

/** The messages of an error and of its cause. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return `${error.message}${cause}`;
}
