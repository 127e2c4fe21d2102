/** Authenticates a client to a broker. No error contains a credential, and credentials are sent in headers only. */
import type { HttpResponse } from "@klutch/http-client";
import { OsbTransportError } from "./errors.ts";
import { basicHeader, isHeaderToken } from "./header-value.ts";
import { createTokenSource, type OAuthConfig, type TokenOptions } from "./oauth.ts";

/** Credentials of a broker. A client certificate belongs to `tls` and goes with any of them, or alone. */
export type BrokerAuth =
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  | { readonly kind: "bearer"; readonly token: string }
  | OAuthConfig;

/** Values of the header `Authorization`. */
export interface Credentials extends AsyncDisposable {
  /** Returns the header; undefined if none is needed. Throws `OsbTransportError` `Login`. */
  header(signal: AbortSignal | undefined): Promise<string | undefined>;
  /** The broker answered 401 to this value. True when the next `header` may be another one. */
  refused(header: string | undefined): boolean;
  /** Texts that must not be shown, as far as they are known by now. */
  secrets(): readonly string[];
}

/** Sends with the present header; once more with a new one when the broker refuses it and there can be another. */
export async function sendAuthorized(
  credentials: Credentials,
  attempt: (authorization: string | undefined) => Promise<HttpResponse>,
  signal: AbortSignal | undefined,
): Promise<HttpResponse> {
  const authorization = await credentials.header(signal);
  const response = await attempt(authorization);
  if (response.status !== 401 || !credentials.refused(authorization)) return response;
  return attempt(await credentials.header(signal));
}

/** Throws `OsbTransportError` `NotSent` for what no header can carry. */
export function createCredentials(auth: BrokerAuth | undefined, options: TokenOptions): Credentials {
  switch (auth?.kind) {
    case undefined:
      return fixed(undefined, []);
    case "basic":
      return fixed(basicHeader(auth.username, auth.password), [auth.password]);
    case "bearer":
      if (!isHeaderToken(auth.token))
        throw new OsbTransportError(
          "NotSent",
          "the bearer token is empty or has characters that a header cannot carry, such as a line break",
        );
      return fixed(`Bearer ${auth.token}`, []);
    case "oauth":
      return oauth(auth, options);
  }
}

/** Collects the secrets. `besides`: secrets in addition to the header's own value. */
function fixed(header: string | undefined, besides: readonly string[]): Credentials {
  const secrets = header === undefined ? besides : [header.replace(/^\w+ /, ""), ...besides];
  return {
    header: () => Promise.resolve(header),
    refused: () => false,
    secrets: () => secrets,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function oauth(config: OAuthConfig, options: TokenOptions): Credentials {
  const tokens = createTokenSource(config, options);
  return {
    header: async (signal) => `Bearer ${await tokens.get(signal)}`,
    refused: (header) => header !== undefined && tokens.forget(header.slice("Bearer ".length)),
    secrets: () => tokens.secrets(),
    [Symbol.asyncDispose]: () => tokens[Symbol.asyncDispose](),
  };
}
