/** Lists the types of Secrets that may cross. The list is short, because controllers of either cluster act on types by themselves. */
import { crossingSecretTypes, serviceBindingPrefix } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import type { CompiledPermissionClaim } from "./compiled-permission-claim.ts";

/** Secrets that clusters and tools make for themselves; they stay without a word, whatever a claim says. */
const ownSecretTypes: readonly RegExp[] = [
  /^kubernetes\.io\/service-account-token$/,
  /^bootstrap\.kubernetes\.io\//,
  /^helm\.sh\//,
];

const clusterConfigMaps: ReadonlySet<string> = new Set(["kube-root-ca.crt", "openshift-service-ca.crt"]);

/** Objects that every cluster makes for itself. `resource` is asked and not `kind`, which is what the other side says. */
export function belongsToItsCluster(resource: string, object: DynamicObject): boolean {
  if (resource === "configmaps") return clusterConfigMaps.has(object.metadata.name ?? "");
  return resource === "secrets" && ownSecretTypes.some((type) => type.test(typeOf(object)));
}

/** The type because of which a Secret does not cross; undefined when it does. A claim's field selector `type=…` allows one more. */
export function refusedSecretType(
  resource: string,
  object: DynamicObject,
  { fieldSelectors }: Pick<CompiledPermissionClaim, "fieldSelectors">,
): string | undefined {
  if (resource !== "secrets") return undefined;
  const type = typeOf(object);
  const isNamed = fieldSelectors.some((requirements) =>
    requirements.some(({ path, equals, value }) => equals && path.join(".") === "type" && value === type),
  );
  const isListed = crossingSecretTypes.includes(type) || type.startsWith(serviceBindingPrefix);
  return isListed || isNamed ? undefined : type;
}

/** A Secret without a type is an Opaque one. */
function typeOf(object: DynamicObject): string {
  const type = object["type"];
  if (type === undefined || type === "") return "Opaque";
  return typeof type === "string" ? type : "not a text";
}
