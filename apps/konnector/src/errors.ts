/** Errors of the konnector, apart from the answers of its API servers. */
import { failureOutline } from "@klutch/kube";

/** The app cluster is not the one that this agent started with (restored or swapped): nothing may be deleted because of what it says. */
export class WrongClusterError extends Error {
  readonly code = "WrongCluster";

  constructor(expected: string, found: string | undefined) {
    super(
      `the app cluster's kube-system namespace has UID ${found ?? "(none)"} instead of ${expected}; not deleting anything on the provider`,
    );
    this.name = "WrongClusterError";
  }
}

/** The provider is not the one that the binding was made with (set up again, or restored under other UIDs). */
export class WrongProviderError extends Error {
  readonly code = "WrongProvider";

  constructor(what: string, expected: string, found: string) {
    super(
      `the provider's ${what} has UID ${found}, but this binding was made with ${expected}: nothing is synced. If the provider was replaced on purpose, remove the annotation klutch.anynines.com/provider-uid from the APIServiceBinding`,
    );
    this.name = "WrongProviderError";
  }
}

/** A cluster did not list the needed objects in time. */
export class NotFilledError extends Error {
  readonly code = "NotFilled";
  readonly cluster: "the provider" | "the app cluster";
  /** The message without a word of the cluster's answer. */
  readonly outline: string;

  constructor(cluster: NotFilledError["cluster"], timeoutMs: number, cause: unknown) {
    const what = `${cluster} did not list what the agent needs within ${timeoutMs / 1000} s`;
    super(cause instanceof Error ? `${what}: ${cause.message}` : what, { cause });
    this.name = "NotFilledError";
    this.cluster = cluster;
    this.outline = `${what}: ${failureOutline(cause)}`;
  }
}

/** The cluster's kind of bindings is a newer release's, which no longer serves the version that this konnector knows. */
export class KindTooNewError extends Error {
  readonly code = "KindTooNew";

  constructor(name: string, served: readonly string[], known: string) {
    super(
      `CustomResourceDefinition ${name} serves ${served.join(", ") || "no version"}, and this konnector knows ${known} only, because it is older than what was installed here: use the konnector of that release`,
    );
    this.name = "KindTooNewError";
  }
}
