/** ServiceBinding claim → ServiceBinding of the provider, with its Secret in the claim's namespace. */
import { instanceTypeLabel, managedServiceBindings, serviceInstances } from "@klutch/api";
import type { Compose, Json } from "@klutch/crossplane";
import { textAt, valueAt } from "@klutch/kube-core";
import { providerConfigName } from "@klutch/services";
import { answer, noClaim } from "./composite.ts";
import { followed } from "./followed.ts";
import { claimOf, managedResource } from "./managed-resource.ts";

const reported = ["serviceBindingID", "state", "connectionDetails", "rotation"];
/** Fields of the claim that the managed resource has by the same name. */
const passed = ["rotate", "rotateGraceSeconds"];

type Labels = Readonly<Record<string, string>>;

export const composeServiceBinding: Compose = (request) => {
  const { composite } = request;
  const claim = claimOf(composite);
  if (claim === undefined) return noClaim;
  const type = textAt(composite, "spec", "serviceInstanceType") ?? "";
  const name = textAt(composite, "spec", "instanceRef") ?? "";
  const bindingAt = (providerConfig: string, labels: Labels = {}): Json =>
    managedResource(claim, managedServiceBindings, {
      labels: { ...labels, [instanceTypeLabel]: type },
      forProvider: {
        instanceName: name,
        acceptsIncomplete: valueAt(composite, "spec", "acceptsIncomplete") !== false,
        ...Object.fromEntries(
          passed
            .map((field) => [field, valueAt(composite, "spec", field)] as const)
            .filter(([, value]) => value !== undefined),
        ),
      },
      providerConfig,
      secretName: `${claim.name}-creds`,
    });
  const usual = providerConfigName(type);
  const { config, labels, required } = followed(request, {
    claim,
    type,
    of: serviceInstances,
    name,
    usual,
    wanted: bindingAt(usual),
  });
  return { ...answer(request, bindingAt(config, labels), reported), required };
};
