/**
 * The ProviderConfigs that the managed resources of one scope may name, by key: the name of a cluster-scoped one,
 * `<namespace>/<name>` of a namespaced one. No name has a slash in it, so the two never meet.
 */
import type { ProviderConfig } from "@klutch/api";
import { refOf, type ResourceType } from "@klutch/kube-core";
import { Informer, type InformerOptions } from "@klutch/kube-runtime";

/** A cache for each kind. */
export class ConfigCaches {
  /** Not started. */
  readonly informers: readonly Informer<ProviderConfig>[];

  constructor(
    types: readonly ResourceType[],
    options: Pick<InformerOptions<ProviderConfig>, "client" | "logger" | "clock" | "random" | "mayBeAbsent">,
  ) {
    this.informers = types.map((type) => new Informer<ProviderConfig>({ ...options, type }));
  }

  /** The ProviderConfig with this key. */
  get(key: string): ProviderConfig | undefined {
    for (const informer of this.informers) {
      const found = informer.get(key);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** That there is none with this key, in the API server's words. */
  notFound(key: string): string {
    const { namespace, name } = refOf(key);
    const type = this.informers.find(({ type: { namespaced } }) => namespaced === (namespace !== undefined));
    const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
    return `${type?.type.plural ?? ""} "${name}" not found${where}`;
  }
}
