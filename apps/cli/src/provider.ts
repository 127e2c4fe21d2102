/** The provider's description of itself: the first thing `kubectl bind <url>` reads. */
import { type BindingProvider, decodeBindingProvider, providerVersionProblem, WireError } from "@klutch/api";
import { CliError } from "./errors.ts";
import { fetchText } from "./http.ts";

/** A provider that this plugin can log in to. */
export interface ProviderDescription {
  readonly url: string;
  readonly prettyName: string;
  readonly version: string;
  /** Where the person logs in; http or https. */
  readonly loginUrl: URL;
}

/** Fetches and checks the description. Throws `CliError` saying what is wrong with the address or the provider. */
export async function fetchProvider(url: string, signal: AbortSignal): Promise<ProviderDescription> {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw new CliError("Usage", `${url} is not an address; it must start with http:// or https://.`);
  }
  const provider = decode(await fetchText(url, signal), url);
  const problem = providerVersionProblem(provider.version);
  if (problem !== undefined) {
    throw new CliError("ProviderVersion", `${url} cannot be used: ${problem}.`);
  }
  const login = provider.authenticationMethods[0]?.oauth2CodeGrant.authenticatedURL ?? "";
  if (!/^https?:\/\//.test(login) || !URL.canParse(login)) {
    throw new CliError("NotAProvider", `${url} names a login address that is not http(s): ${login}`);
  }
  return {
    url,
    prettyName: provider.providerPrettyName,
    version: provider.version,
    loginUrl: new URL(login),
  };
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
