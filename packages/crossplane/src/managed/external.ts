/** Defines what a managed kind must bring: how to observe and change its external resource. */
import type { KubeObject, StandardCondition } from "@klutch/kube-core";
import { DelayedRetryError } from "@klutch/kube-runtime";

/** The name of the external resource, as Crossplane shows it. */
export const externalNameAnnotation = "crossplane.io/external-name";

/** A managed resource, cluster-scoped (resource model v1) or namespaced (v2), as far as the reconciler reads it. */
export interface Managed extends KubeObject {
  readonly spec: {
    /** `kind`: of namespaced ones only. */
    readonly providerConfigRef?: { readonly name: string; readonly kind?: string | undefined } | undefined;
    /** For cluster-scoped resources only. */
    readonly deletionPolicy?: "Orphan" | "Delete" | undefined;
    readonly managementPolicies?: readonly string[] | undefined;
    /** The namespace counts of cluster-scoped ones only. */
    readonly writeConnectionSecretToRef?:
      | { readonly name: string; readonly namespace?: string | undefined }
      | undefined;
  };
  readonly status?: { readonly conditions?: readonly StandardCondition[] | undefined } | undefined;
}

/** Connection details: keys and values of the Secret. */
export type ConnectionDetails = Readonly<Record<string, string>>;

/** The result of an observation. */
export interface Observation {
  /** True when the backend has something that a deletion would have to remove. */
  readonly exists: boolean;
  /** True when it matches the spec. Ignored while it does not exist. */
  readonly upToDate: boolean;
  /** `unknown`: the backend says something that is not understood. */
  readonly ready: "available" | "creating" | "deleting" | "unavailable" | "unknown";
  /** Reason of the Ready condition, in one word. Default: that of `ready`. */
  readonly reason?: string | undefined;
  /** Shown in the Ready condition. Never a credential. */
  readonly message?: string | undefined;
  /** The backend's message when it failed to apply the spec and will not be asked again. Shown in the Synced condition. */
  readonly failure?: string | undefined;
  /** Reason of the Synced condition with `failure`, in one word. Default: `Failed`. */
  readonly failureReason?: string | undefined;
  /** Fields of `status`, each as a whole; those that are not named stay. */
  readonly status?: Readonly<Record<string, unknown>> | undefined;
  /** Written to the Secret when given and not empty. */
  readonly connection?: ConnectionDetails | undefined;
  /** True when the content of the Secret is no longer valid: it is removed before anything is created again. */
  readonly revoked?: boolean | undefined;
  /** When to observe again. Default: the kind's poll interval. */
  readonly pollAfterMs?: number | undefined;
  /**
   * What failed before will be tried again only after this: the wait after its next failure goes on growing, and Synced goes on saying what
   * failed, as long as the spec is the same.
   */
  readonly keepsBackOff?: boolean | undefined;
}

/** Options of each call. */
export interface CallOptions {
  readonly signal: AbortSignal;
}

/** The external resource of one managed resource. Each call must be safe to repeat after a crash at any point. */
export interface ExternalClient {
  observe(options: CallOptions): Promise<Observation>;
  create(options: CallOptions): Promise<void>;
  update(options: CallOptions): Promise<void>;
  delete(options: CallOptions): Promise<void>;
}

/**
 * Writes annotations of the managed resource that must not be lost, before the external client goes on; `undefined` removes one. Resolves
 * when the API server has them.
 */
export type CriticalAnnotationUpdate = (
  annotations: Readonly<Record<string, string | undefined>>,
) => Promise<void>;

/** Makes the external client of one managed resource. */
export type Connect<M extends Managed> = (
  managed: M,
  context: { readonly signal: AbortSignal; readonly updateCriticalAnnotations: CriticalAnnotationUpdate },
) => Promise<ExternalClient>;

/** Options of `ExternalError`. */
export interface ExternalErrorOptions {
  readonly cause?: unknown;
  /** Not tried again earlier; the wait grows with each failure all the same. */
  readonly retryAfterMs?: number | undefined;
  /** One word in upper camel case for the Synced condition. Default: `ReconcileError`. */
  readonly reason?: string | undefined;
}

/** Something the user should read in the condition word for word. Other errors are reported too, by their message. */
export class ExternalError extends DelayedRetryError {
  readonly code = "External";
  readonly reason: string | undefined;

  constructor(message: string, options?: ExternalErrorOptions) {
    super(message, options);
    this.name = "ExternalError";
    this.reason = options?.reason;
  }
}

/** Nothing is wrong at the backend: something in this cluster has to happen first. It is observed again after a fixed time. */
export class NotYetError extends ExternalError {
  readonly requeueAfterMs: number;

  constructor(
    message: string,
    options: Omit<ExternalErrorOptions, "retryAfterMs"> & { readonly requeueAfterMs: number },
  ) {
    super(message, options);
    this.name = "NotYetError";
    this.requeueAfterMs = options.requeueAfterMs;
  }
}
