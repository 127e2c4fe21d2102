/** Follows Warning events in the service namespaces of one tenant and tells them on the claims they are about. */
import type { Environment, ProviderCluster } from "../../clusters.ts";
import type { BoundApis } from "../binding/bound-apis.ts";
import type { NamespaceMap } from "../service-namespace/namespace-map.ts";
import { followWarnings, type Warning } from "./warnings.ts";

/** What the mirror needs. */
export interface WarningMirrorOptions {
  readonly provider: ProviderCluster;
  readonly namespaces: NamespaceMap;
  readonly apis: BoundApis;
  readonly environment: Environment;
}

/** See the module comment. */
export class WarningMirror implements AsyncDisposable {
  readonly #options: WarningMirrorOptions;
  /** By provider namespace. */
  readonly #followed = new Map<
    string,
    { readonly abort: AbortController; readonly running: Promise<void> }
  >();

  constructor(options: WarningMirrorOptions) {
    this.#options = options;
  }

  /** Follows until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    using _ = this.#options.namespaces.onChange(() => this.#adjust());
    this.#adjust();
    const { promise, resolve } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (!signal.aborted) await promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#followed.values()];
    this.#followed.clear();
    for (const { abort } of all) abort.abort(new Error("the session was closed"));
    await Promise.all(all.map(({ running }) => running));
  }

  /** One watch for each service namespace: nobody may see the events of the whole provider cluster. */
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
    const { provider, environment } = this.#options;
    const { clock, random, logger } = environment;
    const abort = new AbortController();
    const running = followWarnings(
      {
        client: provider.client,
        namespace,
        clock,
        random,
        logger,
        onWarning: (warning) => this.#tell(warning),
      },
      abort.signal,
    );
    this.#followed.set(namespace, { abort, running });
  }

  #tell({ apiVersion, kind, namespace, name, reason, message }: Warning): void {
    const { namespaces, apis, environment } = this.#options;
    const consumerNamespace = namespace === undefined ? undefined : namespaces.consumerNamespaceOf(namespace);
    if (consumerNamespace === undefined) return;
    apis
      .mirror(kind, apiVersion, `${consumerNamespace}/${name}`, reason, `on the provider: ${message}`)
      .catch((error: unknown) => environment.logger.debug("a warning could not be told", { error }));
  }
}
