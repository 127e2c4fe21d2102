/**
 * A login at one registry: by user and password, or by tokens that a token server gives for them (OCI distribution specification 1.1,
 * authentication; the token protocol of the distribution project). The password goes to the registry, to a token server on the same host, and
 * to those that a person has named: a registry does not choose who else gets it.
 */
import { Secret } from "@klutch/telemetry";
import { parseChallenges } from "./challenge.ts";
import { OciError } from "./errors.ts";
import { bodyOf, exchange } from "./exchange.ts";

/** Account for a login. */
export type Account =
  | { readonly kind: "password"; readonly username: string; readonly password: Secret<string> }
  /** Token that some registries issue in place of the password, usable for tokens only. */
  | { readonly kind: "identityToken"; readonly token: Secret<string> };

/** Returns the account with the password from standard input, without its line end; undefined if the input was empty. */
export function passwordAccount(username: string, input: string): Account | undefined {
  const password = input.replace(/\r?\n$/, "");
  return password === "" ? undefined : { kind: "password", username, password: new Secret(password) };
}

/** Options of a login. */
export interface LoginOptions {
  /** Base URL of the registry, such as `https://registry.example.org`. */
  readonly registry: string;
  /** Asked when the registry wants a login, and not before; undefined when there is none. */
  readonly account: (options: { readonly signal: AbortSignal | undefined }) => Promise<Account | undefined>;
  /** Hosts of token servers besides the registry's own: `HOST[:PORT]`. */
  readonly tokenServers: readonly string[];
}

/** Request to a token server. */
interface TokenRequest {
  readonly url: URL;
  readonly service: string;
  readonly scope: string;
}

/** The largest answer of a token server that is read, in bytes. */
const largestAnswer = 1024 * 1024;

/** The login at one registry; what was given for it is kept as long as it is. */
export class RegistryLogin {
  readonly #options: LoginOptions;
  /** Values of the header `Authorization` by repository. */
  readonly #headers = new Map<string, Secret<string>>();
  readonly #secrets = new Set<string>();
  #account: Promise<Account | undefined> | undefined;

  constructor(options: LoginOptions) {
    this.#options = options;
  }

  /** Value of the header `Authorization`; undefined before the registry has asked for one. */
  header(repository: string): string | undefined {
    return this.#headers.get(repository)?.reveal();
  }

  /** Makes the header that the registry asks for. Throws `OciError` that names the missing or refused part, never the password. */
  async answer(asked: string, repository: string, signal: AbortSignal | undefined): Promise<void> {
    const account = await (this.#account ??= this.#options.account({ signal }));
    const { registry } = this.#options;
    if (account === undefined) {
      const { host } = new URL(registry);
      throw new OciError(
        `the registry ${registry} wants a login: run docker login ${host}, or give --username and --password-stdin`,
      );
    }
    this.#requireSafe();
    const challenges = parseChallenges(asked);
    const bearer = challenges.find(({ scheme }) => scheme === "bearer");
    const isBasic = challenges.some(({ scheme }) => scheme === "basic");
    if (bearer !== undefined) {
      const url = this.#tokenServer(bearer.parameters.get("realm") ?? "");
      const service = bearer.parameters.get("service") ?? "";
      // What the registry asks for is not looked at: it gets no more than this.
      const scope = `repository:${repository}:pull,push`;
      const token = await this.#token({ url, service, scope }, account, signal);
      this.#keep(repository, `Bearer ${token}`, token);
    } else if (isBasic && account.kind === "password") {
      const basic = basicOf(account);
      this.#keep(repository, `Basic ${basic}`, basic, account.password.reveal());
    } else throw new OciError(`the registry ${registry} wants a login of a kind that is not known here`);
  }

  /** The text without what was ever sent to prove who we are. */
  redacted(text: string): string {
    return [...this.#secrets].reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
  }

  #keep(repository: string, header: string, ...secrets: readonly string[]): void {
    this.#headers.set(repository, new Secret(header));
    for (const secret of secrets) if (secret !== "") this.#secrets.add(secret);
  }

  #requireSafe(): void {
    const { registry } = this.#options;
    if (isSafe(new URL(registry))) return;
    throw new OciError(`the registry ${registry} wants a login, and no password is sent over plain http`);
  }

  /** Returns the token server. Throws `OciError` for a server that must not get the password. */
  #tokenServer(realm: string): URL {
    const { registry, tokenServers } = this.#options;
    const shown = JSON.stringify(realm.slice(0, 200));
    if (!URL.canParse(realm))
      throw new OciError(`the registry ${registry} has tokens at ${shown}, which is no URL`);
    const [url, own] = [new URL(realm), new URL(registry)];
    if (!isSafe(url) || (url.protocol === "http:" && own.protocol !== "http:"))
      throw new OciError(
        `the registry ${registry} has tokens at ${shown}; no password is sent over plain http`,
      );
    if (url.username !== "" || url.password !== "")
      throw new OciError(`the registry ${registry} has tokens at a URL with a user in it, which is refused`);
    if (url.hostname !== own.hostname && !tokenServers.includes(url.host))
      throw new OciError(
        `the registry ${registry} has tokens at another server, ${url.host}, which would get the password; if that is right, give --token-server ${url.host}`,
      );
    return url;
  }

  async #token(request: TokenRequest, account: Account, signal: AbortSignal | undefined): Promise<string> {
    const { origin } = request.url;
    const response = await askFor(request, account, signal);
    const refused = (why: string): OciError =>
      new OciError(`the server of tokens ${origin} of the registry ${this.#options.registry} ${why}`);
    if (response.status !== 200) {
      await response.body?.cancel();
      throw refused(`gives none for ${request.scope}: HTTP ${response.status}; log in again`);
    }
    const body = await bodyOf(response, largestAnswer);
    const token = body === undefined ? undefined : tokenIn(body);
    if (token === undefined) throw refused("gave an answer that is no token");
    return token;
  }
}

/** Over TLS, or on this machine. */
function isSafe({ protocol, hostname }: URL): boolean {
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  return protocol === "https:" || (protocol === "http:" && isLoopback);
}

function basicOf({ username, password }: Extract<Account, { readonly kind: "password" }>): string {
  return Buffer.from(`${username}:${password.reveal()}`).toString("base64");
}

/** A redirect is not followed: it would take the request to another server. */
function askFor(
  { url, service, scope }: TokenRequest,
  account: Account,
  signal: AbortSignal | undefined,
): Promise<Response> {
  if (account.kind === "identityToken") {
    const form = { grant_type: "refresh_token", service, scope, client_id: "klutch" };
    const body = new URLSearchParams({ ...form, refresh_token: account.token.reveal() });
    return exchange(url.href, { method: "POST", redirect: "manual", body }, undefined, signal);
  }
  const asking = new URL(url);
  if (service !== "") asking.searchParams.set("service", service);
  asking.searchParams.set("scope", scope);
  asking.searchParams.set("account", account.username);
  return exchange(asking.href, { redirect: "manual" }, `Basic ${basicOf(account)}`, signal);
}

/** The token in a token server's answer; undefined when there is none that could stand in a header. */
function tokenIn(body: Uint8Array): string | undefined {
  let answer: unknown;
  try {
    answer = JSON.parse(Buffer.from(body).toString());
  } catch {
    return undefined;
  }
  const fields = new Map<string, unknown>(
    typeof answer === "object" && answer !== null ? Object.entries(answer) : [],
  );
  const token = fields.get("token") ?? fields.get("access_token");
  return typeof token === "string" && /^[\x21-\x7e]{1,65536}$/.test(token) ? token : undefined;
}
