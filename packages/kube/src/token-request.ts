/** Short-lived tokens of service accounts (TokenRequest, KEP-1205). */
import { Secret } from "@klutch/telemetry";
import { type ObjectRef, recordAt } from "@klutch/kube-core";
import { TransportError } from "./errors.ts";
import type { KubeClient } from "./types.ts";

/** A token and its end. */
export interface ServiceAccountToken {
  readonly token: Secret<string>;
  /** Milliseconds since the epoch; the server may have shortened what was asked for. */
  readonly expiresAt: number;
}

/** Asks for a token of the account `ref`. `expirationSeconds` must be at least 600. */
export async function serviceAccountToken(
  client: KubeClient,
  ref: ObjectRef,
  options: {
    readonly expirationSeconds: number;
    readonly audiences?: readonly string[] | undefined;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<ServiceAccountToken> {
  const answer = await client.request({
    method: "POST",
    path: `/api/v1/namespaces/${ref.namespace ?? "default"}/serviceaccounts/${ref.name}/token`,
    body: {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: options.expirationSeconds, audiences: options.audiences },
    },
    signal: options.signal,
  });
  const status = recordAt(answer, "status");
  if (typeof status["token"] !== "string") {
    throw new TransportError("Decode", `the TokenRequest for ${ref.name} was answered without a token`);
  }
  return { token: new Secret(status["token"]), expiresAt: Date.parse(String(status["expirationTimestamp"])) };
}
