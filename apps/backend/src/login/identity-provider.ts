/**
 * The login at the identity provider: authorization code with PKCE (RFC 7636), state and nonce, by openid-client, which checks issuer,
 * audience, nonce and times of the ID token; its signature is checked beside that.
 */
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  type Configuration,
  discovery,
  randomPKCECodeVerifier,
} from "openid-client";
import type { Clock } from "@klutch/kube";
import type { Secret } from "@klutch/telemetry";
import { UserError } from "../errors.ts";
import type { Person } from "../identity.ts";
import {
  type AccessTokenVerifier,
  type CiRules,
  type ClientPerson,
  createAccessTokenVerifier,
} from "./access-token.ts";
import { randomToken } from "../sealed-cookie.ts";
import {
  deviceClient,
  deviceFault,
  type DeviceLogin,
  noDeviceLogins,
  pollDeviceCode,
  requestDeviceCode,
} from "./device-grant.ts";
import {
  isUnavailable,
  reasonOf,
  startAgain,
  translate,
  translateLogout,
  translateToken,
} from "./failures.ts";
import { createIdTokenVerifier, type IdTokenVerifier } from "./id-token.ts";
import { createLogoutTokenVerifier, type LogoutTokenVerifier, type ProviderLogout } from "./logout-token.ts";
import type { UserRules } from "../authorization/user-claims.ts";
import { isLoopback, urlFault } from "../secure-url.ts";

/** State to remember between the two halves of a login, in the browser that started it. */
export interface LoginSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** The client that this backend is at the identity provider. */
export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret<string>;
  readonly callbackUrl: string;
  readonly authorizeUrl: string | undefined;
  /** Scopes besides `openid profile email`. Default none. */
  readonly extraScopes?: readonly string[] | undefined;
  /** Names of people in the control plane's RBAC. Default: they have none. */
  readonly userRules?: UserRules | undefined;
  /** Public client of logins on another device. Default: there are none. */
  readonly deviceClientId?: string | undefined;
  /** Programs that may act without a browser. Default: none. */
  readonly ci?: CiRules | undefined;
}

/** Options besides the configuration. */
export interface IdentityProviderOptions {
  /** Least time between two fetches of the provider's keys because a token names an unknown one. Default: 10 seconds. */
  readonly keyCooldownMs?: number | undefined;
}

/** Answer of the identity provider about a login on another device. */
export type DeviceOutcome =
  | { readonly kind: "pending" | "slowDown" }
  | { readonly kind: "approved"; readonly person: Person };

interface Discovered {
  readonly configuration: Configuration;
  readonly verifyIdToken: IdTokenVerifier;
  readonly verifyAccessToken: AccessTokenVerifier | undefined;
  readonly verifyLogoutToken: LogoutTokenVerifier;
  /** Client of logins on another device, and the verifier of its ID tokens. */
  readonly device: { readonly client: Configuration; readonly verify: IdTokenVerifier } | undefined;
}

const firstRetryMs = 1_000;
const lastRetryMs = 30_000;

/** One identity provider. It is asked for its metadata when first needed, and again until it answers. */
export class IdentityProvider {
  readonly #config: OidcConfig;
  readonly #clock: Clock;
  readonly #keyCooldownMs: number;
  #discovered: Promise<Discovered> | undefined;
  #problem: string | undefined;
  #offersDevice = false;
  #endSessionUrl: string | undefined;

  constructor(config: OidcConfig, clock: Clock, options: IdentityProviderOptions = {}) {
    this.#config = config;
    this.#clock = clock;
    this.#keyCooldownMs = options.keyCooldownMs ?? 10_000;
  }

  /** Reason why logins do not work, for the readiness probe. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** True if this backend has a client for logins on another device, and the metadata, as far as they are known, have that flow. */
  get offersDevice(): boolean {
    return this.#offersDevice;
  }

  /**
   * URL at which a browser ends its login at the identity provider (OpenID Connect RP-Initiated Logout 1.0), with the client's id and no token;
   * undefined if the metadata, as far as they are known, name none that may be used.
   */
  get endSessionUrl(): string | undefined {
    return this.#endSessionUrl;
  }

  /**
   * Asks the provider for its metadata, so that a wrong issuer shows before the first login. With a signal it asks until it gets
   * them: a backend that is not ready gets no logins, which would otherwise be what makes it ask again. Never rejects.
   */
  async probe(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    const { signal } = options;
    for (let delayMs = firstRetryMs; ; delayMs = Math.min(2 * delayMs, lastRetryMs)) {
      await this.#discover().catch(() => undefined);
      if (this.#problem === undefined || signal === undefined) return;
      await this.#clock.sleep(delayMs, { signal }).catch(() => undefined);
      if (signal.aborted) return;
    }
  }

  async begin(): Promise<{ readonly url: string; readonly secrets: LoginSecrets }> {
    const { configuration } = await this.#discover();
    const secrets = { state: randomToken(), nonce: randomToken(), verifier: randomPKCECodeVerifier() };
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: this.#config.callbackUrl,
      scope: this.#scope,
      state: secrets.state,
      nonce: secrets.nonce,
      code_challenge: await calculatePKCECodeChallenge(secrets.verifier),
      code_challenge_method: "S256",
    });
    return { url: url.href, secrets };
  }

  /** Exchanges the code of the callback; `query` is the callback's query. Throws `UserError`. */
  async finish(query: string, secrets: LoginSecrets): Promise<Person> {
    const { configuration, verifyIdToken } = await this.#discover();
    const url = new URL(this.#config.callbackUrl);
    url.search = query;
    try {
      const tokens = await authorizationCodeGrant(configuration, url, {
        expectedState: secrets.state,
        expectedNonce: secrets.nonce,
        pkceCodeVerifier: secrets.verifier,
        idTokenExpected: true,
      });
      const { id_token: idToken } = tokens;
      if (idToken === undefined) {
        throw new UserError(502, "The identity provider sent no ID token.", startAgain);
      }
      return await verifyIdToken(idToken);
    } catch (error) {
      if (isUnavailable(error)) throw this.#unusable(error);
      throw translate(error);
    }
  }

  /** Asks for a code with which a person logs in on another device. Throws `UserError`. */
  async beginDevice(): Promise<DeviceLogin> {
    const { device } = await this.#discover();
    if (device === undefined) throw noDeviceLogins();
    try {
      return await requestDeviceCode(device.client, this.#scope);
    } catch (error) {
      throw isUnavailable(error) ? this.#unusable(error) : error;
    }
  }

  /** Asks whether the person has logged in. The ID token is verified as at `finish`; this flow has no nonce. Throws `UserError`. */
  async pollDevice(deviceCode: string): Promise<DeviceOutcome> {
    const { device } = await this.#discover();
    if (device === undefined) throw noDeviceLogins();
    try {
      const state = await pollDeviceCode(device.client, deviceCode);
      if (state.kind !== "approved") return { kind: state.kind };
      return { kind: "approved", person: await device.verify(state.idToken) };
    } catch (error) {
      if (isUnavailable(error)) throw this.#unusable(error);
      throw translate(error);
    }
  }

  /** Returns the program that an access token is of; undefined if no program may act here. Throws `UserError`. */
  async program(accessToken: string): Promise<ClientPerson | undefined> {
    const { verifyAccessToken } = await this.#discover();
    try {
      return await verifyAccessToken?.(accessToken);
    } catch (error) {
      if (isUnavailable(error)) throw this.#unusable(error);
      throw translateToken(error);
    }
  }

  /** Returns the person of whom a logout token says that they logged out. Throws `UserError`. */
  async logout(logoutToken: string): Promise<ProviderLogout> {
    const { verifyLogoutToken } = await this.#discover();
    try {
      return await verifyLogoutToken(logoutToken);
    } catch (error) {
      if (isUnavailable(error)) throw this.#unusable(error);
      throw translateLogout(error);
    }
  }

  get #scope(): string {
    return ["openid profile email", ...(this.#config.extraScopes ?? [])].join(" ");
  }

  #discover(): Promise<Discovered> {
    this.#discovered ??= this.#fetchMetadata();
    return this.#discovered;
  }

  async #fetchMetadata(): Promise<Discovered> {
    const { issuer, clientId, clientSecret } = this.#config;
    const server = new URL(issuer);
    try {
      const configuration = await discovery(server, clientId, clientSecret.reveal(), undefined, {
        // Plain HTTP only to this machine, for development.
        execute: server.protocol === "http:" && isLoopback(server) ? [allowInsecureRequests] : [],
        timeout: 10,
      });
      const metadata = configuration.serverMetadata();
      const { ci, userRules, deviceClientId } = this.#config;
      const verifying = {
        issuer: metadata.issuer,
        clientId,
        keySetUrl: new URL(checkedEndpoints(metadata)),
        keyCooldownMs: this.#keyCooldownMs,
        clock: this.#clock,
        userRules,
      };
      const verifyIdToken = createIdTokenVerifier(verifying);
      const verifyAccessToken = ci && createAccessTokenVerifier({ ...verifying, rules: ci });
      const device =
        deviceClientId === undefined
          ? undefined
          : {
              client: deviceClient(metadata, deviceClientId),
              verify: createIdTokenVerifier({ ...verifying, clientId: deviceClientId }),
            };
      this.#problem = undefined;
      this.#offersDevice = device !== undefined && deviceFault(metadata) === undefined;
      this.#endSessionUrl = endSessionUrlOf(metadata, clientId);
      const clientIds = [clientId, ...(deviceClientId === undefined ? [] : [deviceClientId])];
      const verifyLogoutToken = createLogoutTokenVerifier({ ...verifying, clientIds });
      return { configuration, verifyIdToken, verifyAccessToken, verifyLogoutToken, device };
    } catch (cause) {
      throw this.#unusable(cause);
    }
  }

  /** Forgets the metadata, so that the next login requests them again: they may have changed. */
  #unusable(cause: unknown): UserError {
    this.#discovered = undefined;
    this.#problem = `the identity provider ${this.#config.issuer} cannot be used: ${reasonOf(cause)}`;
    return new UserError(
      503,
      "The identity provider cannot be used at the moment.",
      "Ask the platform operator; the backend's /readyz says why.",
      { cause },
    );
  }
}

function endSessionUrlOf(
  { end_session_endpoint: endpoint }: Readonly<Record<string, unknown>>,
  clientId: string,
): string | undefined {
  if (typeof endpoint !== "string" || urlFault(endpoint) !== undefined) return undefined;
  const url = new URL(endpoint);
  url.searchParams.set("client_id", clientId);
  return url.href;
}

/** Gives back the URL of the keys. Throws when one of the endpoints that a login uses is missing, or could be listened to. */
function checkedEndpoints(metadata: Readonly<Record<string, unknown>>): string {
  const names = ["authorization_endpoint", "token_endpoint", "jwks_uri"] as const;
  const urls = names.map((name) => {
    const value = metadata[name];
    if (typeof value !== "string") throw new Error(`its metadata have no ${name}`);
    const fault = urlFault(value);
    if (fault !== undefined) throw new Error(`${name} ${value} in its metadata ${fault}`);
    return value;
  });
  return urls[2] ?? "";
}
