/** Follows Warning events in the service namespaces of one tenant and records them on the claims they are about. */
import { type RelatedObject, untilAborted } from "@klutch/kube-runtime";
import { tenantWords } from "@klutch/sync";
import type { Startable } from "../../lifecycle.ts";
import type { ProviderParts } from "../service-namespace/provider-parts.ts";
import { followWarnings, type Warning } from "./follow.ts";

/** Records a Warning on the claim with this key (`namespace/name`) of this kind, if it exists. `related`: another object of which it speaks. */
export type RecordWarning = (
  kind: string,
  apiVersion: string,
  key: string,
  reason: string,
  message: string,
  related: RelatedObject | undefined,
) => Promise<void>;

interface Followed {
  readonly abort: AbortController;
  readonly running: Promise<void>;
}

/** One watch for each service namespace: a tenant may not see the events of the whole provider cluster. */
export class WarningMirror implements Startable {
  readonly #parts: Pick<ProviderParts, "provider" | "namespaces" | "runtime">;
  readonly #recordWarning: RecordWarning;
  /** By provider namespace. */
  readonly #followed = new Map<string, Followed>();

  constructor(parts: ProviderParts, recordWarning: RecordWarning) {
    this.#parts = parts;
    this.#recordWarning = recordWarning;
  }

  async start({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    using _ = this.#parts.namespaces.onChange(() => this.#adjust());
    this.#adjust();
    await untilAborted(signal);
    const all = [...this.#followed.values()];
    this.#followed.clear();
    for (const { abort } of all) abort.abort(signal.reason);
    await Promise.all(all.map(({ running }) => running));
  }

  #adjust(): void {
    const { namespaces } = this.#parts;
    const wanted = new Set([...namespaces.ready()].map(([, namespace]) => namespace));
    for (const [namespace, { abort }] of this.#followed) {
      if (wanted.has(namespace)) continue;
      abort.abort(new Error("no longer mapped"));
      this.#followed.delete(namespace);
    }
    for (const namespace of wanted) if (!this.#followed.has(namespace)) this.#follow(namespace);
  }

  #follow(namespace: string): void {
    const { provider, runtime } = this.#parts;
    const abort = new AbortController();
    const running = followWarnings(
      { ...runtime, client: provider.client, namespace, onWarning: (warning) => this.#record(warning) },
      abort.signal,
    );
    this.#followed.set(namespace, { abort, running });
  }

  #record({ apiVersion, kind, namespace, name, reason, message, related }: Warning): void {
    const { namespaces, provider, runtime } = this.#parts;
    const consumerNamespace = namespace === undefined ? undefined : namespaces.consumerNamespaceOf(namespace);
    if (consumerNamespace === undefined) return;
    this.#recordWarning(
      kind,
      apiVersion,
      `${consumerNamespace}/${name}`,
      reason,
      `on the provider: ${tenantWords(message, provider.tenant.namespace)}`,
      related,
    ).catch((error: unknown) => runtime.logger.debug("a warning could not be recorded", { error }));
  }
}
