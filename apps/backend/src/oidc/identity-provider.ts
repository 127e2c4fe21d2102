/**
 * The login at the identity provider: authorization code with PKCE (RFC 7636), state and nonce, all by openid-client, which verifies
 * signature, issuer, audience and times of the ID token.
 */
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  type Configuration,
  discovery,
  randomPKCECodeVerifier,
  ResponseBodyError,
  AuthorizationResponseError,
} from "openid-client";
import type { Clock } from "@klutch/kube";
import { UserError } from "../errors.ts";
import { randomToken } from "../http/sealed-cookie.ts";
import type { BackendConfig } from "../config.ts";

/** What must be remembered between the two halves of a login, in the browser that started it. */
export interface LoginSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Who logged in. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

/** One identity provider. It is asked for its metadata when first needed, and again until it answers. */
export class IdentityProvider {
  readonly #config: BackendConfig["oidc"];
  readonly #clock: Clock;
  #configuration: Promise<Configuration> | undefined;
  #lastFailure: { readonly at: number; readonly message: string } | undefined;

  constructor(config: BackendConfig["oidc"], clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  /** Why logins do not work, for the readiness probe. */
  get problem(): string | undefined {
    return this.#lastFailure?.message;
  }

  /** Asks the provider for its metadata, so that a wrong issuer shows before the first login. */
  async probe(): Promise<void> {
    await this.#discover().catch(() => undefined);
  }

  async begin(): Promise<{ readonly url: string; readonly secrets: LoginSecrets }> {
    const configuration = await this.#discover();
    const secrets = { state: randomToken(), nonce: randomToken(), verifier: randomPKCECodeVerifier() };
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: this.#config.callbackUrl,
      scope: "openid profile email",
      state: secrets.state,
      nonce: secrets.nonce,
      code_challenge: await calculatePKCECodeChallenge(secrets.verifier),
      code_challenge_method: "S256",
    });
    return { url: url.href, secrets };
  }

  /** Exchanges the code of the callback; `query` is the callback's query. Throws `UserError`. */
  async finish(query: string, secrets: LoginSecrets): Promise<Identity> {
    const configuration = await this.#discover();
    const url = new URL(this.#config.callbackUrl);
    url.search = query;
    try {
      const tokens = await authorizationCodeGrant(configuration, url, {
        expectedState: secrets.state,
        expectedNonce: secrets.nonce,
        pkceCodeVerifier: secrets.verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) throw new UserError(502, "The identity provider sent no ID token.", again);
      return { issuer: claims.iss, subject: claims.sub };
    } catch (error) {
      throw translate(error);
    }
  }

  #discover(): Promise<Configuration> {
    this.#configuration ??= this.#fetchMetadata();
    return this.#configuration;
  }

  async #fetchMetadata(): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#config;
    const server = new URL(issuer);
    const loopback = ["localhost", "127.0.0.1", "[::1]"].includes(server.hostname);
    try {
      const configuration = await discovery(server, clientId, clientSecret.reveal(), undefined, {
        // Plain HTTP only to this machine, for development.
        execute: server.protocol === "http:" && loopback ? [allowInsecureRequests] : [],
        timeout: 10,
      });
      this.#lastFailure = undefined;
      return configuration;
    } catch (cause) {
      this.#configuration = undefined;
      const message = `the identity provider ${issuer} cannot be used: ${reasonOf(cause)}`;
      this.#lastFailure = { at: this.#clock.now(), message };
      throw new UserError(
        503,
        "The identity provider cannot be used at the moment.",
        `Ask the platform operator; the backend's /readyz says why.`,
        { cause },
      );
    }
  }
}

const again = "Start again with kubectl bind.";

function translate(error: unknown): unknown {
  if (error instanceof UserError) return error;
  if (error instanceof AuthorizationResponseError) {
    const said = [error.error, error.error_description].filter(Boolean).join(": ");
    return new UserError(401, `The identity provider refused the login: ${said}.`, again, { cause: error });
  }
  if (error instanceof ResponseBodyError) {
    const said = [error.error, error.error_description].filter(Boolean).join(": ");
    return new UserError(401, `The identity provider did not accept the login: ${said}.`, again, {
      cause: error,
    });
  }
  return new UserError(401, `The login could not be verified: ${reasonOf(error)}.`, again, { cause: error });
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return `${error.message}${cause}`;
}
