/**
 * The device authorization grant at the identity provider (RFC 8628): asks for a code, and asks whether the person has decided. It has a public
 * client of its own, because Dex puts the secret of a confidential one into the address that the person's browser opens.
 */
import { decodeDeviceCode, type DeviceCode, deviceGrant, WireError } from "@klutch/api";
import {
  allowInsecureRequests,
  Configuration,
  genericGrantRequest,
  initiateDeviceAuthorization,
  None,
  ResponseBodyError,
  type ServerMetadata,
} from "openid-client";
import { UserError } from "../errors.ts";
import { isLoopback, urlFault } from "../secure-url.ts";
import { isUnavailable, reasonOf, saidBy, startAgain } from "./failures.ts";

/** A code for a person, and the secret by which the backend asks about it. */
export interface DeviceLogin {
  readonly code: DeviceCode;
  /** Leaves this process sealed only. */
  readonly deviceCode: string;
}

/** State of a login that was asked about. */
export type DeviceState =
  | { readonly kind: "pending" }
  /** Pending, and the next poll must wait five seconds longer than this one did (RFC 8628 §3.5). */
  | { readonly kind: "slowDown" }
  /** The ID token is not verified yet. */
  | { readonly kind: "approved"; readonly idToken: string };

/** Longest device code that fits into a handle. */
const longestDeviceCode = 4_096;
const askOperator =
  "Log in with a browser instead: leave out --device. The platform operator finds the reason in docs/identity-providers.md.";

/** Returns the public client of this flow at the identity provider. */
export function deviceClient(metadata: ServerMetadata, clientId: string): Configuration {
  const configuration = new Configuration(metadata, clientId, undefined, None());
  configuration.timeout = 10;
  const issuer = new URL(metadata.issuer);
  if (issuer.protocol === "http:" && isLoopback(issuer)) allowInsecureRequests(configuration);
  return configuration;
}

/** Returns why the identity provider cannot be asked for codes; undefined if it can. */
export function deviceFault(metadata: Readonly<Record<string, unknown>>): string | undefined {
  const { device_authorization_endpoint: endpoint } = metadata;
  if (typeof endpoint !== "string") return "its metadata have no device_authorization_endpoint";
  const fault = urlFault(endpoint);
  return fault === undefined ? undefined : `the device_authorization_endpoint of its metadata ${fault}`;
}

/** Returns the refusal of a backend without such a client. */
export function noDeviceLogins(): UserError {
  return new UserError(
    404,
    "This provider offers no login on another device.",
    "Log in with a browser instead: leave out --device. The platform operator opens this way with --oidc-device-client-id.",
  );
}

/** Requests a code. Rejects with `UserError` for a provider that has none for this backend, and for an answer that is not one. */
export async function requestDeviceCode(configuration: Configuration, scope: string): Promise<DeviceLogin> {
  const metadata = configuration.serverMetadata();
  const fault = deviceFault(metadata);
  if (fault !== undefined)
    throw new UserError(
      404,
      `${metadata.issuer} offers no device login: ${fault}.`,
      "Log in with a browser instead: leave out --device.",
    );
  try {
    const answer = await initiateDeviceAuthorization(configuration, { scope });
    if (answer.device_code.length > longestDeviceCode)
      throw new WireError("device_code", `is longer than ${longestDeviceCode} characters`);
    const code = decodeDeviceCode({
      userCode: answer.user_code,
      verificationUri: answer.verification_uri,
      verificationUriComplete: answer.verification_uri_complete,
      expiresIn: answer.expires_in,
      interval: answer.interval,
    });
    return { code, deviceCode: answer.device_code };
  } catch (cause) {
    if (isUnavailable(cause)) throw cause;
    if (cause instanceof ResponseBodyError)
      throw new UserError(
        502,
        `The identity provider gives this backend no code for a device login: ${saidBy(cause)}.`,
        askOperator,
        { cause },
      );
    throw new UserError(
      502,
      `The identity provider's answer to a device login cannot be used: ${reasonOf(cause)}.`,
      askOperator,
      { cause },
    );
  }
}

/** Asks once. Rejects with `UserError` when the login is over, and with the client's own error for any other answer. */
export async function pollDeviceCode(configuration: Configuration, deviceCode: string): Promise<DeviceState> {
  try {
    const tokens = await genericGrantRequest(configuration, deviceGrant, { device_code: deviceCode });
    const { id_token: idToken } = tokens;
    if (idToken === undefined)
      throw new UserError(502, "The identity provider sent no ID token.", startAgain);
    return { kind: "approved", idToken };
  } catch (error) {
    const state = error instanceof ResponseBodyError ? stateOf(error) : undefined;
    if (state !== undefined) return state;
    throw error;
  }
}

/** The codes of RFC 8628 §3.5; Microsoft has its own word for a no. */
function stateOf({ error }: ResponseBodyError): DeviceState | undefined {
  switch (error) {
    case "authorization_pending":
      return { kind: "pending" };
    case "slow_down":
      return { kind: "slowDown" };
    case "access_denied":
    case "authorization_declined":
      throw new UserError(403, "The login was refused at the identity provider.", startAgain);
    case "expired_token":
      throw new UserError(401, "The code has expired before anyone logged in with it.", startAgain);
    default:
      return undefined;
  }
}
