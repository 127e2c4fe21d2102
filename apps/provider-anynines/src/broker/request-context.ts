/**
 * Says who a request to a broker is for, in the way that its ProviderConfig names (`spec.context`):
 *
 * | kind           | `organization_guid`, `space_guid` | `context` of an instance                   | `context` of a binding |
 * |----------------|-----------------------------------|--------------------------------------------|------------------------|
 * | `Organization` | sent                              | that of the spec, platform, both GUIDs     | that of the spec       |
 * | `Namespace`    | not sent                          | that of the spec, platform, namespace, clusterid (OSB profile, "Kubernetes Context Object") | the same |
 * | `None`         | not sent                          | that of the spec                           | that of the spec       |
 */
import type { ManagedServiceBinding, ProviderConfigContext, ServiceInstance } from "@klutch/api";
import { ExternalError, type Managed } from "@klutch/crossplane";
import { isRefusal, OsbError, type ProvisionRequest } from "@klutch/osb";
import { claimNamespaceOf } from "../claims/names.ts";
import { shownConfig } from "../provider-config/reference.ts";

type Context = NonNullable<ProvisionRequest["context"]>;

/** Fields of a request that say who it is for. */
export type RequestContext = Pick<ProvisionRequest, "organizationGuid" | "spaceGuid" | "context">;

/** Default of `spec.context`. */
const usual: ProviderConfigContext = { kind: "Organization" };

/** Returns these fields of a provision or update. Throws `ExternalError` for a namespace that is not known. */
export function instanceContext(
  managed: ServiceInstance,
  settings: ProviderConfigContext | undefined = usual,
): RequestContext {
  const { context, organizationGuid, spaceGuid } = managed.spec.forProvider;
  if (settings.kind !== "Organization") return { context: withNamespace(managed, context, settings) };
  const named = { platform: "kubernetes", organization_guid: organizationGuid, space_guid: spaceGuid };
  return { organizationGuid, spaceGuid, context: { ...context, ...named } };
}

/** Returns the context of a bind. Throws `ExternalError` for a namespace that is not known. */
export function bindingContext(
  managed: ManagedServiceBinding,
  settings: ProviderConfigContext | undefined = usual,
): Context | undefined {
  return withNamespace(managed, managed.spec.forProvider.context, settings);
}

function withNamespace(
  managed: Managed,
  context: Context | undefined,
  { kind, clusterID }: ProviderConfigContext,
): Context | undefined {
  if (kind !== "Namespace") return context;
  const namespace = claimNamespaceOf(managed) ?? context?.["namespace"];
  if (namespace === undefined) {
    throw new ExternalError(
      `spec.forProvider.context.namespace is missing; ${shownConfig(managed)} wants a namespace for what has no claim`,
      { reason: "Refused" },
    );
  }
  return { ...context, platform: "kubernetes", namespace, clusterid: clusterID };
}

/** Fields that a broker may name when it refuses them, or their absence. */
const namedFields = /\b(?:organi[sz]ation_?guid|space_?guid|cluster_?id|context(?! deadline| cancel))\b/i;

/** Sends a request. A refusal that names one of its fields about the context says who decides about them. */
export async function withContextHint<T>(
  managed: Managed,
  settings: ProviderConfigContext | undefined = usual,
  send: () => Promise<T>,
): Promise<T> {
  try {
    return await send();
  } catch (error) {
    if (!isRefusal(error) || !namedFields.test(error.message)) throw error;
    const said = error.description === "" ? "" : `${error.description.slice(0, 400)}; `;
    const description =
      `${said}the platform team chooses by spec.context of ${shownConfig(managed)}, now ${settings.kind}, ` +
      "whether the broker gets organisation and space, a namespace, or neither";
    const { status, error: word, own, requestIdentity } = error;
    const { retryAfterMs, instanceUsable, updateRepeatable } = error;
    const hints = { retryAfterMs, instanceUsable, updateRepeatable };
    throw new OsbError({ status, error: word, own, requestIdentity, ...hints, description, action: "" });
  }
}
