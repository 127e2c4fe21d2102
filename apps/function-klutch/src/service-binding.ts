/** ServiceBinding claim → ServiceBinding of the provider, with its Secret in the claim's namespace. */
import { instanceTypeLabel, managedServiceBindings } from "@klutch/api";
import type { Compose } from "@klutch/crossplane";
import { textAt, valueAt } from "@klutch/kube-core";
import { providerConfigName } from "@klutch/services";
import { answer, noClaim } from "./composite.ts";
import { claimOf, managedResource } from "./managed-resource.ts";

const reported = ["serviceBindingID", "state", "connectionDetails", "rotation"];
/** Fields of the claim that the managed resource has by the same name. */
const passed = ["rotate", "rotateGraceSeconds"];

export const composeServiceBinding: Compose = (request) => {
  const { composite } = request;
  const claim = claimOf(composite);
  if (claim === undefined) return noClaim;
  const type = textAt(composite, "spec", "serviceInstanceType") ?? "";
  const resource = managedResource(claim, managedServiceBindings, {
    labels: { [instanceTypeLabel]: type },
    forProvider: {
      instanceName: textAt(composite, "spec", "instanceRef") ?? "",
      acceptsIncomplete: valueAt(composite, "spec", "acceptsIncomplete") !== false,
      ...Object.fromEntries(
        passed
          .map((field) => [field, valueAt(composite, "spec", field)] as const)
          .filter(([, value]) => value !== undefined),
      ),
    },
    providerConfig: providerConfigName(type),
    secretName: `${claim.name}-creds`,
  });
  return answer(request, resource, reported);
};
