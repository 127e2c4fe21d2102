/** Turns a `ClusterAuth` into request headers, fresh for each request, so that a rotated token needs no new connection. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { textAt, valueAt } from "@klutch/kube-core";
import type { Clock } from "./clock.ts";
import type { ClusterAuth } from "./config.ts";
import { TransportError } from "./errors.ts";

/** Gives the Authorization header, or undefined when the connection itself authenticates. */
export interface AuthSource {
  header(): Promise<string | undefined>;
  /** Forgets the cached credential; called after a 401. */
  invalidate(): void;
}

/** Time for which a token file's content is used before it is read again; kubelet rewrites it well before expiry. */
const tokenFileMaxAgeMs = 60_000;
const execTimeoutMs = 60_000;

/** The source for `auth`. */
export function createAuthSource(auth: ClusterAuth, clock: Clock): AuthSource {
  switch (auth.kind) {
    case "none":
    case "clientCertificate":
      return constant(undefined);
    case "token":
      return constant(`Bearer ${auth.token.reveal()}`);
    case "basic":
      return constant(
        `Basic ${Buffer.from(`${auth.username}:${auth.password.reveal()}`).toString("base64")}`,
      );
    case "tokenFile":
      return cached(clock, async () => ({
        header: `Bearer ${(await readFile(auth.path, "utf8")).trim()}`,
        expiresAt: clock.now() + tokenFileMaxAgeMs,
      }));
    case "exec":
      return cached(clock, () => runCredentialPlugin(auth));
  }
}

interface Credential {
  readonly header: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

function constant(header: string | undefined): AuthSource {
  return { header: () => Promise.resolve(header), invalidate() {} };
}

function cached(clock: Clock, obtain: () => Promise<Credential>): AuthSource {
  let current: Promise<Credential> | undefined;
  return {
    async header() {
      current ??= obtain();
      let credential: Credential;
      try {
        credential = await current;
      } catch (cause) {
        current = undefined;
        throw cause instanceof TransportError
          ? cause
          : new TransportError("Auth", `credentials cannot be obtained: ${messageOf(cause)}`, { cause });
      }
      if (credential.expiresAt > clock.now()) return credential.header;
      current = obtain();
      return (await current).header;
    },
    invalidate() {
      current = undefined;
    },
  };
}

async function runCredentialPlugin(auth: Extract<ClusterAuth, { kind: "exec" }>): Promise<Credential> {
  const info = JSON.stringify({
    apiVersion: auth.apiVersion,
    kind: "ExecCredential",
    spec: { interactive: false },
  });
  const { stdout } = await promisify(execFile)(auth.command, [...auth.args], {
    env: { ...auth.env, KUBERNETES_EXEC_INFO: info },
    timeout: execTimeoutMs,
  });
  const answer: unknown = JSON.parse(stdout);
  const token = textAt(answer, "status", "token");
  if (token === undefined) {
    throw new TransportError("Auth", `the credential plugin ${auth.command} returned no status.token`);
  }
  const expiry = valueAt(answer, "status", "expirationTimestamp");
  const expiresAt = typeof expiry === "string" ? Date.parse(expiry) - 30_000 : Number.POSITIVE_INFINITY;
  return { header: `Bearer ${token}`, expiresAt };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
