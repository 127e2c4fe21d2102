/** Defines and checks the configuration of a backup manager before anything is sent. */
import { X509Certificate } from "node:crypto";
import type { Secret } from "@klutch/telemetry";
import { BackupManagerConfigError } from "./errors.ts";

/** Address and credentials of a backup manager. */
export interface BackupManagerConfig {
  /** Base address, http or https, without credentials, query and fragment; a slash at the end does not matter. */
  readonly url: string;
  /** Credentials for HTTP Basic authentication. Default: none are sent. */
  readonly credentials?:
    | {
        /** User name without a colon: Basic authentication cannot send one. */
        readonly username: string;
        /** Shows in no message of this client when it has four characters or more. */
        readonly password: Secret<string>;
      }
    | undefined;
  /** Maximum time of one call, until the end of the answer, in milliseconds. Default 60 000, at most an hour. */
  readonly timeoutMs?: number | undefined;
  /** TLS settings for an https address. Default: the system's authorities, and the host of `url`. */
  readonly tls?:
    | {
        /** Certificates of authorities in PEM, one or more; they take the place of those of the system. */
        readonly ca?: string | undefined;
        /** The name that the certificate must have, when it is another than the host of `url`. */
        readonly serverName?: string | undefined;
        /** Takes any certificate, whatever `ca` says. Default false. Anybody in between can then read the credentials. */
        readonly insecureSkipVerify?: boolean | undefined;
      }
    | undefined;
}

/** A configuration that can be used. */
export interface CheckedConfig {
  /** Base URL without a slash at the end. */
  readonly base: string;
  /** The value of `Authorization`. */
  readonly authorization: string | undefined;
  /** Texts that must not appear in any message. */
  readonly secrets: readonly string[];
  readonly timeoutMs: number;
  readonly tls: NonNullable<BackupManagerConfig["tls"]>;
}

const defaultTimeoutMs = 60_000;
const longestTimeoutMs = 3_600_000;

/** Checks everything that can be checked without a connection. Throws `BackupManagerConfigError`. */
export function checkConfig(config: BackupManagerConfig): CheckedConfig {
  const { credentials, timeoutMs = defaultTimeoutMs, tls = {} } = config;
  if (!(timeoutMs >= 1 && timeoutMs <= longestTimeoutMs))
    throw new BackupManagerConfigError(`timeoutMs must be from 1 to ${longestTimeoutMs}`);
  if (credentials?.username.includes(":") === true)
    throw new BackupManagerConfigError("credentials.username must not contain a colon");
  if (tls.ca !== undefined) checkAuthorities(tls.ca);
  const password = credentials?.password.reveal();
  const token =
    credentials === undefined
      ? undefined
      : Buffer.from(`${credentials.username}:${password}`).toString("base64");
  return {
    base: baseOf(config.url),
    authorization: token === undefined ? undefined : `Basic ${token}`,
    secrets: [password, token].filter((secret) => secret !== undefined),
    timeoutMs,
    tls,
  };
}

function baseOf(url: string): string {
  const { protocol, username, password, search, hash, origin, pathname } = parseUrl(url);
  if (protocol !== "http:" && protocol !== "https:")
    throw new BackupManagerConfigError("url must begin with http:// or https://");
  if (username !== "" || password !== "")
    throw new BackupManagerConfigError("url must not contain credentials; give them in credentials");
  if (search !== "" || hash !== "")
    throw new BackupManagerConfigError("url must not have a query (?) or a fragment (#)");
  return `${origin}${pathname.replace(/\/+$/, "")}`;
}

function parseUrl(url: string): URL {
  const parsed = URL.parse(url);
  if (parsed === null) throw new BackupManagerConfigError("url is not an address");
  return parsed;
}

const certificate = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

function checkAuthorities(pem: string): void {
  const found = pem.match(certificate) ?? [];
  if (found.length === 0) throw new BackupManagerConfigError("tls.ca contains no certificate in PEM");
  for (const [index, text] of found.entries()) {
    if (!isCertificate(text))
      throw new BackupManagerConfigError(`certificate ${index + 1} of tls.ca cannot be read`);
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}
