/** Takes snapshots of both clusters for the invariants. */
import { apiServiceBindings, apiServiceExports, apiServiceNamespaces } from "@klutch/api";
import type { ApiServerModel, VirtualClock } from "@klutch/kube-testing";
import { checkInvariants, type InvariantSnapshot, type Tenant } from "@klutch/sync";
import { type DynamicObject, namespaces, type ResourceType, secrets } from "@klutch/kube-core";
import { simulatedApis } from "./apis.ts";
import type { SimulatedTenant } from "./tenant.ts";

/** The objects of a model; it keeps JSON that every client validated. */
export function objectsOf(model: ApiServerModel, type: ResourceType): readonly DynamicObject[] {
  return model.objects(type) as unknown as readonly DynamicObject[];
}

/** Lists the invariants that do not hold for a tenant now; without objects of the provider whose names contain `foreign`. */
export function violations(
  tenant: SimulatedTenant,
  others: readonly SimulatedTenant[],
  { provider, clock }: { readonly provider: ApiServerModel; readonly clock: VirtualClock },
  foreign?: string,
): string[] {
  const types = [...simulatedApis, { name: "secrets", type: secrets }];
  const all = (model: ApiServerModel): InvariantSnapshot["consumer"]["objects"] =>
    Object.fromEntries(types.map(({ name, type }) => [name, objectsOf(model, type)]));
  const own = (type: ResourceType): readonly DynamicObject[] =>
    objectsOf(provider, type).filter(({ metadata }) => metadata.namespace === tenant.namespace);
  const onProvider = objectsOf(provider, namespaces);
  const tenantOf = ({ namespace }: SimulatedTenant): Tenant => ({
    namespace,
    namespaceUid: onProvider.find(({ metadata }) => metadata.name === namespace)?.metadata.uid ?? "",
  });
  const found = checkInvariants({
    now: clock.now(),
    graceMs: 0,
    consumer: {
      objects: all(tenant.consumer),
      bindings: objectsOf(tenant.consumer, apiServiceBindings) as never,
      crds: [],
      namespaces: objectsOf(tenant.consumer, namespaces),
    },
    provider: {
      objects: all(provider),
      exports: own(apiServiceExports) as never,
      apiServiceNamespaces: own(apiServiceNamespaces),
      namespaces: onProvider,
      tenant: tenantOf(tenant),
      otherTenants: others.map(tenantOf),
    },
  });
  return found.flatMap(({ invariant, side, object, message }) =>
    foreign !== undefined && side === "provider" && object.includes(foreign)
      ? []
      : [`${tenant.name} ${invariant}: ${side} ${object}: ${message}`],
  );
}
