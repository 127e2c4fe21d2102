/** Judges where an agent may write: bound kinds, accepted claims and its own objects, on both sides. Knows promises, not how they are kept. */
import {
  apiServiceBindingCrd,
  apiServiceBindings,
  apiServiceExports,
  apiServiceNamespaces,
  clusterBindingName,
  clusterBindings,
  clusterNamespaceAnnotation,
  consumerNamespace,
  kubeconfigKey,
  readServiceNamespaceOwner,
  serviceNamespaceAnnotation,
} from "@klutch/api";
import {
  customResourceDefinitions,
  events,
  isRecord,
  namespaces,
  type ResourceType,
  secrets,
} from "@klutch/kube-core";
import type { ApiServerModel } from "@klutch/kube-testing";
import type { AgentWrite } from "./agent.ts";
import { simulatedApis } from "./apis.ts";
import { objectsOf } from "./snapshot.ts";
import { type SimulatedTenant, workNamespaces } from "./tenant.ts";

const ownKinds: Readonly<Record<AgentWrite["side"], readonly ResourceType[]>> = {
  provider: [apiServiceNamespaces, apiServiceExports, clusterBindings],
  consumer: [secrets, events, apiServiceBindings, customResourceDefinitions],
};
const is = (one: ResourceType, other: ResourceType): boolean =>
  one.plural === other.plural && one.group === other.group;
const isBoundKind = (type: ResourceType): boolean => simulatedApis.some((api) => is(api.type, type));

/** Remembers the provider's words about its own objects, so that an agent's later write is judged by the words that it could know. */
export class ProviderWords {
  readonly #provider: ApiServerModel;
  /** Tenants whose cluster-scoped objects were to have their own names. */
  readonly #unprefixed = new Set<string>();
  /** `<tenant> <place>` of the objects that the provider marked as a tenant's. */
  readonly #marked = new Set<string>();

  constructor(provider: ApiServerModel) {
    this.#provider = provider;
  }

  /** Remembers the provider's present words. Must be called whenever they may have changed. */
  note(): void {
    for (const { metadata, spec } of objectsOf(this.#provider, apiServiceExports))
      if (isRecord(spec) && spec["clusterScopedIsolation"] === "None")
        this.#unprefixed.add(metadata.namespace ?? "");
    for (const { type } of simulatedApis)
      for (const { metadata } of type.namespaced ? [] : objectsOf(this.#provider, type))
        this.#marked.add(
          `${metadata.annotations?.[clusterNamespaceAnnotation]} ${type.plural}/${metadata.name}`,
        );
    for (const { metadata } of objectsOf(this.#provider, namespaces)) {
      const owner = readServiceNamespaceOwner(metadata.annotations?.[serviceNamespaceAnnotation]);
      this.#marked.add(`${owner?.clusterNamespace ?? ""} namespaces/${metadata.name}`);
    }
  }

  /** Tells whether the namespace is the tenant's, by its name or by the provider's word. */
  hasNamespace({ namespace: tenant }: SimulatedTenant, namespace: string): boolean {
    this.note();
    return (
      namespace === tenant ||
      namespace.startsWith(`${tenant}-`) ||
      this.#marked.has(`${tenant} namespaces/${namespace}`)
    );
  }

  /** Tells whether a cluster-scoped object is the tenant's, or may become it. */
  hasName({ namespace: tenant }: SimulatedTenant, type: ResourceType, name: string): boolean {
    this.note();
    if (name.startsWith(`${tenant}-`) || this.#marked.has(`${tenant} ${type.plural}/${name}`)) return true;
    const isThere = objectsOf(this.#provider, type).some(({ metadata }) => metadata.name === name);
    return !isThere && this.#unprefixed.has(tenant);
  }
}

/** Explains why this tenant's agent must not write this, with resource and place; undefined when it may. */
export function misplaced(
  tenant: SimulatedTenant,
  write: AgentWrite,
  words: ProviderWords,
): string | undefined {
  const { side, verb, type, namespace, name } = write;
  const resource = type.group === "" ? type.plural : `${type.plural}.${type.group}`;
  const what = `${verb} ${resource} ${namespace ?? ""}/${name} on the ${side}`;
  const isOwn = isOwnKind(side, type);
  if (!isOwn && !isBoundKind(type)) return `a write outside of bound kinds and claims: ${what}`;
  if (side === "provider") {
    const isTenants = isOwn
      ? namespace === tenant.namespace && (!is(type, clusterBindings) || name === clusterBindingName)
      : namespace === undefined
        ? words.hasName(tenant, type, name)
        : words.hasNamespace(tenant, namespace);
    return isTenants ? undefined : `a write outside of the tenant: ${what}`;
  }
  if (is(type, secrets) && !isSecretsPlace(namespace, name)) return `a Secret where nothing lives: ${what}`;
  const isElsewhere =
    (is(type, apiServiceBindings) && namespace !== consumerNamespace) ||
    (is(type, customResourceDefinitions) && !isOwnCrd(name));
  return isElsewhere ? `a write outside of bound kinds and claims: ${what}` : undefined;
}

/** Tells whether an agent has a business with a kind that is not bound. */
function isOwnKind(side: AgentWrite["side"], type: ResourceType): boolean {
  return ownKinds[side].some((one) => is(one, type));
}

/** Tells whether claims live there, or the Secret with the credentials for the provider. */
function isSecretsPlace(namespace: string | undefined, name: string): boolean {
  return (
    workNamespaces.includes(namespace ?? "") || (namespace === consumerNamespace && name === kubeconfigKey)
  );
}

function isOwnCrd(name: string): boolean {
  return name === apiServiceBindingCrd.metadata.name || simulatedApis.some((api) => api.name === name);
}
