/** Lists the bindable APIs: CRDs that a template offers. */
import {
  type APIServiceExportTemplate,
  crdNameOf,
  serviceBackupsAnnotation,
  serviceTypeLabel,
  type TemplateReference,
} from "@klutch/api";
import { conditionsOf, findCondition, type KubeObject, plainText } from "@klutch/kube-core";
import type { Informer } from "@klutch/kube-runtime";
import {
  offeredApi,
  type OfferedApi,
  offerFault,
  type OfferScopes,
  type PricedPlan,
  templateRefOf,
} from "./offered-api.ts";

/** An API with a template that does not offer it now. */
export interface UnavailableApi {
  readonly group: string;
  readonly resource: string;
  /** Clause for people, with the reason of the template's condition. */
  readonly reason: string;
  readonly template: TemplateReference;
}

/** Finds the plans of a kind with their prices. */
interface PlanSource {
  plansOf(crd: KubeObject | undefined): readonly PricedPlan[];
  /** Calls `handler` after each change of prices. */
  onChange(handler: () => void): void;
}

/** Reads templates and CRDs from caches. */
export class ExportTemplates {
  readonly #templates: Pick<Informer<APIServiceExportTemplate>, "get" | "list">;
  readonly #crds: Pick<Informer<KubeObject>, "get">;
  readonly #scopes: OfferScopes;
  readonly #prices: PlanSource | undefined;
  /** Answers by kind, because to read a schema takes milliseconds and every page of every person asks for all of them. */
  readonly #known = new WeakMap<
    KubeObject,
    { readonly template: APIServiceExportTemplate; readonly offer: OfferedApi | undefined }
  >();

  constructor(parts: {
    readonly templates: Pick<Informer<APIServiceExportTemplate>, "get" | "list">;
    readonly crds: Pick<Informer<KubeObject>, "get">;
    readonly scopes: OfferScopes;
    /** Default: there are no prices. */
    readonly prices?: PlanSource | undefined;
  }) {
    this.#templates = parts.templates;
    this.#crds = parts.crds;
    this.#scopes = parts.scopes;
    this.#prices = parts.prices;
  }

  /** Calls `handler` after each change of prices. */
  onPrices(handler: () => void): void {
    this.#prices?.onChange(handler);
  }

  /** The template with the key `namespace/name`. */
  get(key: string): APIServiceExportTemplate | undefined {
    return this.#templates.get(key);
  }

  #withPrices(offer: OfferedApi): OfferedApi {
    const plans = this.#prices?.plansOf(this.#crds.get(crdNameOf(offer))) ?? [];
    const prices = plans.flatMap(({ name: plan, services, perMonth }) =>
      perMonth === undefined ? [] : [{ plan, services, perMonth }],
    );
    return prices.length === 0 ? offer : { ...offer, prices };
  }

  /** Sorted by CRD name, each once, with prices. Cluster-scoped APIs only where the agent watches the whole cluster. */
  list(): readonly OfferedApi[] {
    const offers = new Map<string, OfferedApi>();
    for (const template of this.#inOrder()) {
      const { group, resource } = template.spec.APIServiceSelector;
      const offer = this.find(group ?? "", resource);
      if (offer !== undefined) offers.set(crdNameOf(offer), this.#withPrices(offer));
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
    // Objects of a cache never change: what changed is another object.
    const known = this.#known.get(crd);
    if (known?.template === template) return known.offer;
    const isOffered = offerFault(template, crd, this.#scopes) === undefined;
    const offer = isOffered ? offeredApi(template, crd) : undefined;
    this.#known.set(crd, { template, offer });
    return offer;
  }

  /** Returns the template of a resource. If several exist, the first by namespace and name counts. */
  template(group: string, resource: string): APIServiceExportTemplate | undefined {
    return this.#inOrder().find(
      ({ spec: { APIServiceSelector: selector } }) =>
        selector.resource === resource && (selector.group ?? "") === group,
    );
  }

  /** Returns the APIs that templates do not offer now, as the conditions of their status say it; ordered by namespace and name. */
  unavailable(): readonly UnavailableApi[] {
    return this.#inOrder().flatMap((template) => {
      const { group = "", resource } = template.spec.APIServiceSelector;
      const reason = whyUnavailable(template);
      return reason === undefined ? [] : [{ group, resource, reason, template: templateRefOf(template) }];
    });
  }

  /** Types of the data services whose instances are offered in the API group and can be named by the template's kind; sorted, each once. */
  serviceTypes(group: string, template: APIServiceExportTemplate | undefined): readonly string[] {
    const backupsOf = (one: APIServiceExportTemplate | undefined): string | undefined =>
      one?.metadata.annotations?.[serviceBackupsAnnotation];
    const needsBackups = backupsOf(template) === "needed";
    const labels = [...this.#templates.list()]
      .filter(({ spec }) => (spec.APIServiceSelector.group ?? "") === group)
      .filter((one) => !needsBackups || backupsOf(one) !== "none")
      .map(({ metadata }) => metadata.labels?.[serviceTypeLabel]);
    return [...new Set(labels.filter((type) => type !== undefined))].toSorted();
  }

  #inOrder(): readonly APIServiceExportTemplate[] {
    const keyOf = ({ metadata }: APIServiceExportTemplate): string =>
      `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
    return [...this.#templates.list()].toSorted((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1));
  }
}

/** Words for the reasons of `templateState`. Messages are for operators: they name kinds that the person may not bind. */
const reasonWords: Readonly<Record<string, string>> = {
  ApiNotAllowed: "an API of this name cannot be shared",
  CRDNotFound: "its kind does not exist at the provider",
  CRDInvalid: "the schema of its kind cannot be shared",
  ScopeNotAllowed: "the provider does not share kinds of this scope",
  NoRightToOffer: "the provider's operator has not put it on the list of kinds that may be handed out",
};

/** Returns the words for the condition that is to blame. A template beside the one that counts for its API is no loss. */
function whyUnavailable(template: APIServiceExportTemplate): string | undefined {
  const conditions = conditionsOf(template);
  const [valid, offered] = [findCondition(conditions, "Valid"), findCondition(conditions, "Offered")];
  if (offered?.status !== "False" || offered.reason === "OtherTemplate") return undefined;
  const blamed = valid?.status === "False" && valid.severity === "Error" ? valid : offered;
  const reason = plainText(blamed.reason ?? "", 63);
  return Object.hasOwn(reasonWords, reason)
    ? `${reasonWords[reason]} (${reason})`
    : `its template says ${reason}`;
}
