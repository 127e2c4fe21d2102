/** Says in words that a provider is away, and tells an outage, which passes, from a refusal, which needs a person. */
import { ApiError, isUnauthorized } from "@klutch/kube";
import { WrongProviderError } from "../errors.ts";

/** Reason of `Heartbeating` while a provider is away. */
export type AwayReason = "CredentialRefused" | "ProviderUnreachable";

/** An absence of a provider. */
export interface Away {
  /** Undefined when the provider answers, and something else is wrong. */
  readonly reason: AwayReason | undefined;
  /** RFC 3339, whole seconds. */
  readonly since: string;
  /** Words for claims: no names of the control plane, and nothing that changes while it lasts. */
  readonly words: string;
}

/** Describes an absence with this reason. */
export function awayFor(reason: AwayReason | undefined, since: string): Away {
  switch (reason) {
    case "CredentialRefused": {
      const words = `the provider refuses the credential of this cluster since ${since}. The APIServiceBinding says what the operator of this cluster can do`;
      return { reason, since, words };
    }
    case "ProviderUnreachable": {
      const words = `the provider has not been reached since ${since}. This change is kept and sent as soon as it can be`;
      return { reason, since, words };
    }
    case undefined: {
      const words = `the provider cannot be used since ${since}. The APIServiceBinding says why`;
      return { reason, since, words };
    }
    default:
      return reason satisfies never;
  }
}

/** Tells a refusal from an outage. An answer that has another cause is neither; one of a server that cannot serve is an outage. */
export function awayReason(error: unknown): AwayReason | undefined {
  if (isUnauthorized(error)) return "CredentialRefused";
  if (error instanceof WrongProviderError) return undefined;
  return error instanceof ApiError && error.status < 500 && error.status !== 429
    ? undefined
    : "ProviderUnreachable";
}
