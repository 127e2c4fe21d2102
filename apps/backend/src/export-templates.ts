/** Lists the bindable APIs: CRDs that a template offers. */
import { type APIServiceExportTemplate, crdNameOf, serviceTypeLabel } from "@klutch/api";
import type { KubeObject } from "@klutch/kube-core";
import type { Informer } from "@klutch/kube-runtime";
import { offeredApi, type OfferedApi, offerFault, type OfferScopes } from "./offered-api.ts";

/** Reads templates and CRDs from caches. */
export class ExportTemplates {
  readonly #templates: Informer<APIServiceExportTemplate>;
  readonly #crds: Informer<KubeObject>;
  readonly #scopes: OfferScopes;

  constructor(parts: {
    readonly templates: Informer<APIServiceExportTemplate>;
    readonly crds: Informer<KubeObject>;
    readonly scopes: OfferScopes;
  }) {
    this.#templates = parts.templates;
    this.#crds = parts.crds;
    this.#scopes = parts.scopes;
  }

  /** The template with the key `namespace/name`. */
  get(key: string): APIServiceExportTemplate | undefined {
    return this.#templates.get(key);
  }

  /** Sorted by CRD name, each once. Cluster-scoped APIs only where the agent watches the whole cluster. */
  list(): readonly OfferedApi[] {
    const offers = new Map<string, OfferedApi>();
    for (const template of this.#inOrder()) {
      const { group, resource } = template.spec.APIServiceSelector;
      const offer = this.find(group ?? "", resource);
      if (offer !== undefined) offers.set(crdNameOf(offer), offer);
    }
    return [...offers.entries()]
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([, offer]) => offer);
  }

  /** The offer of one resource; undefined when no template or no CRD stands behind it. */
  find(group: string, resource: string): OfferedApi | undefined {
    const template = this.template(group, resource);
    const crd = this.#crds.get(crdNameOf({ group, resource }));
    if (template === undefined || crd === undefined) return undefined;
    return offerFault(template, crd, this.#scopes) === undefined ? offeredApi(template, crd) : undefined;
  }

  /** Returns the template of a resource. If several exist, the first by namespace and name counts. */
  template(group: string, resource: string): APIServiceExportTemplate | undefined {
    return this.#inOrder().find(
      ({ spec: { APIServiceSelector: selector } }) =>
        selector.resource === resource && (selector.group ?? "") === group,
    );
  }

  /** Types of the data services whose instances are offered in the API group, sorted, each once. */
  serviceTypes(group: string): readonly string[] {
    const labels = [...this.#templates.list()]
      .filter(({ spec }) => (spec.APIServiceSelector.group ?? "") === group)
      .map(({ metadata }) => metadata.labels?.[serviceTypeLabel]);
    return [...new Set(labels.filter((type) => type !== undefined))].toSorted();
  }

  #inOrder(): readonly APIServiceExportTemplate[] {
    const keyOf = ({ metadata }: APIServiceExportTemplate): string =>
      `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
    return [...this.#templates.list()].toSorted((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1));
  }
}
