/** ServiceBinding claim → ServiceBinding of the provider, with its Secret in the claim's namespace. */
import { instanceTypeLabel, managedServiceBindings } from "@klutch/api";
import type { Compose, Json } from "@klutch/crossplane";
import { apiVersionOf, textAt, valueAt } from "@klutch/kube-core";
import { providerConfigName } from "@klutch/services";
import { answer, claimLabels, claimOf, noClaim } from "./composite.ts";

const reported = ["serviceBindingID", "state", "connectionDetails", "rotation"];
/** Fields of the claim that the managed resource has by the same name. */
const passed = ["rotate", "rotateGraceSeconds"];

export const composeServiceBinding: Compose = (request) => {
  const { composite } = request;
  const claim = claimOf(composite);
  if (claim === undefined) return noClaim;
  const type = textAt(composite, "spec", "serviceInstanceType") ?? "";
  const resource: Json = {
    apiVersion: apiVersionOf(managedServiceBindings),
    kind: managedServiceBindings.kind,
    metadata: { labels: { ...claimLabels(claim), [instanceTypeLabel]: type } },
    spec: {
      forProvider: {
        instanceName: textAt(composite, "spec", "instanceRef") ?? "",
        acceptsIncomplete: valueAt(composite, "spec", "acceptsIncomplete") !== false,
        ...Object.fromEntries(
          passed
            .map((field) => [field, valueAt(composite, "spec", field)] as const)
            .filter(([, value]) => value !== undefined),
        ),
      },
      providerConfigRef: { name: providerConfigName(type) },
      writeConnectionSecretToRef: { namespace: claim.namespace, name: `${claim.name}-creds` },
    },
  };
  return answer(request, resource, reported);
};
