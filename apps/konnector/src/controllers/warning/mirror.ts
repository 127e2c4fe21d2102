/** Follows Warning events in the service namespaces of one tenant and records them on the claims they are about. */
import type { RuntimeDependencies, ProviderCluster } from "../../clusters.ts";
import { untilAborted } from "@klutch/kube-runtime";
import type { Startable } from "../../lifecycle.ts";
import type { NamespaceMappings } from "../service-namespace/namespace-mappings.ts";
import { followWarnings, type Warning } from "./follow.ts";

/** Records a Warning on the claim with this key (`namespace/name`) of this kind, if there is one. */
export type RecordWarning = (
  kind: string,
  apiVersion: string,
  key: string,
  reason: string,
  message: string,
) => Promise<void>;

/** Options of the mirror. */
export interface WarningMirrorOptions {
  readonly provider: ProviderCluster;
  readonly namespaces: NamespaceMappings;
  readonly recordWarning: RecordWarning;
  readonly runtime: RuntimeDependencies;
}

interface Followed {
  readonly abort: AbortController;
  readonly running: Promise<void>;
}

/** One watch for each service namespace: a tenant may not see the events of the whole provider cluster. */
export class WarningMirror implements Startable {
  readonly #options: WarningMirrorOptions;
  /** By provider namespace. */
  readonly #followed = new Map<string, Followed>();

  constructor(options: WarningMirrorOptions) {
    this.#options = options;
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    using _ = this.#options.namespaces.onChange(() => this.#adjust());
    this.#adjust();
    await untilAborted(signal);
    const all = [...this.#followed.values()];
    this.#followed.clear();
    for (const { abort } of all) abort.abort(signal.reason);
    await Promise.all(all.map(({ running }) => running));
  }

  #adjust(): void {
    const { namespaces } = this.#options;
    const wanted = new Set([...namespaces.ready()].map(([, namespace]) => namespace));
    for (const [namespace, { abort }] of this.#followed) {
      if (wanted.has(namespace)) continue;
      abort.abort(new Error("no longer mapped"));
      this.#followed.delete(namespace);
    }
    for (const namespace of wanted) if (!this.#followed.has(namespace)) this.#follow(namespace);
  }

  #follow(namespace: string): void {
    const { provider, runtime } = this.#options;
    const { clock, random, logger } = runtime;
    const abort = new AbortController();
    const running = followWarnings(
      {
        client: provider.client,
        namespace,
        clock,
        random,
        logger,
        onWarning: (warning) => this.#record(warning),
      },
      abort.signal,
    );
    this.#followed.set(namespace, { abort, running });
  }

  #record({ apiVersion, kind, namespace, name, reason, message }: Warning): void {
    const { namespaces, recordWarning, runtime } = this.#options;
    const consumerNamespace = namespace === undefined ? undefined : namespaces.consumerNamespaceOf(namespace);
    if (consumerNamespace === undefined) return;
    recordWarning(
      kind,
      apiVersion,
      `${consumerNamespace}/${name}`,
      reason,
      `on the provider: ${message}`,
    ).catch((error: unknown) => runtime.logger.debug("a warning could not be recorded", { error }));
  }
}
