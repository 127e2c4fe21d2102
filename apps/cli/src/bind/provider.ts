/** The provider's description of itself: the first thing `kubectl bind <url>` reads. */
import { type BindingProvider, decodeBindingProvider, providerVersionProblem, WireError } from "@klutch/api";
import { CliError } from "../errors.ts";
import { addressProblem, checkAddress, fetchText } from "../http.ts";

/** A provider that this plugin can log in to. */
export interface ProviderDescription {
  readonly url: string;
  readonly prettyName: string;
  readonly version: string;
  /** URL of the login page; https, or http on loopback. */
  readonly loginUrl: URL;
  /** Id that the provider gives its control plane; undefined if it gives none. */
  readonly controlPlaneId: string | undefined;
  /** URL at which it takes confirmations of logins, at the origin of the login; undefined for an earlier backend. */
  readonly confirmUrl?: string | undefined;
  /** True if it binds several APIs of a login; an earlier backend binds one. */
  readonly severalApis?: boolean | undefined;
  /** URL at which a login on another device begins, at the origin of the login; undefined if the provider has none. */
  readonly deviceUrl?: string | undefined;
  /** URL at which it issues sessions for scripts, at the origin of the login; undefined if it issues none. */
  readonly sessionUrl?: string | undefined;
}

/**
 * Fetches and checks the provider's description. `allowAuthorizeUrl` is the only other origin that may serve the login. Throws
 * `CliError` with the fault of the address or the provider.
 */
export async function fetchProvider(
  url: string,
  signal: AbortSignal,
  allowAuthorizeUrl?: string,
): Promise<ProviderDescription> {
  checkAddress(url);
  const provider = decode(await fetchText(url, signal), url);
  const problem = providerVersionProblem(provider.version);
  if (problem !== undefined) {
    throw new CliError("ProviderVersion", `${url} cannot be used: ${problem}.`);
  }
  const login = provider.authenticationMethods[0]?.oauth2CodeGrant.authenticatedURL ?? "";
  const loginUrl = loginUrlFor(url, login, allowAuthorizeUrl);
  return {
    url,
    prettyName: provider.providerPrettyName,
    version: provider.version,
    loginUrl,
    controlPlaneId: provider.controlPlaneId,
    confirmUrl: besideLogin(url, loginUrl, provider.confirmUrl, "takes confirmations of logins"),
    deviceUrl: besideLogin(url, loginUrl, provider.deviceUrl, "begins logins on another device"),
    sessionUrl: besideLogin(url, loginUrl, provider.sessionUrl, "issues sessions"),
    severalApis: provider.severalApis === true,
  };
}

/** Returns a URL of requests of this plugin. It must be at the origin of the login: a signature for another server could be passed on there. */
function besideLogin(
  typed: string,
  loginUrl: URL,
  named: string | undefined,
  what: string,
): string | undefined {
  if (named === undefined || new URL(named).origin === loginUrl.origin) return named;
  throw new CliError(
    "NotAProvider",
    `${typed} ${what} at ${new URL(named).origin}, which is another server than that of the login. If you trust that address, bind with it instead.`,
  );
}

/**
 * Returns the login URL. The user typed one address and the provider names another: both must have the same origin, because the answer
 * with the credentials comes from there. A backend behind a TLS-terminating gateway names its own host with http; it is asked over https.
 */
export function loginUrlFor(typed: string, named: string, allowed?: string): URL {
  if (!/^https?:\/\//.test(named) || !URL.canParse(named)) {
    throw new CliError("NotAProvider", `${typed} names a login address that is not http(s): ${named}`);
  }
  const [provider, login] = [new URL(typed), new URL(named)];
  if (provider.protocol === "https:" && login.host === provider.host) login.protocol = "https:";
  if (login.username !== "" || login.password !== "") {
    throw new CliError("NotAProvider", `${typed} names a login address with a user name or password in it.`);
  }
  if (login.origin === provider.origin) return login;
  const problem = addressProblem(login.href);
  if (problem === undefined && allowed !== undefined && new URL(allowed).origin === login.origin)
    return login;
  throw new CliError(
    "NotAProvider",
    `${typed} sends you to log in at ${login.origin}, which is another server. If the provider's operator told you that address, pass --allow-authorize-url=${login.origin}.`,
  );
}

function decode(text: string, url: string): BindingProvider {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new CliError(
      "NotAProvider",
      `${url} is not a Klutch backend: its answer is not JSON. Check the address; it usually ends in /export.`,
      { cause },
    );
  }
  try {
    return decodeBindingProvider(value);
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    throw new CliError(
      "NotAProvider",
      `${url} is not a Klutch backend this plugin knows: ${cause.message}.`,
      {
        cause,
      },
    );
  }
}
