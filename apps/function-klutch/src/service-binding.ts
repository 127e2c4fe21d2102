/** ServiceBinding claim → ServiceBinding of the provider, with its Secret in the claim's namespace. */
import { instanceTypeLabel, managedServiceBindings } from "@klutch/api";
import type { Compose, ComposeRequest, ComposeResponse, Json } from "@klutch/crossplane";
import { recordAt, textAt, valueAt } from "@klutch/kube-core";
import { providerConfigName } from "@klutch/services";
import { answer, claimLabels, claimOf, noClaim } from "./composite.ts";

const reported = ["serviceBindingID", "state", "connectionDetails"];

export const composeServiceBinding: Compose = (request) => {
  const { composite } = request;
  const claim = claimOf(composite);
  if (claim === undefined) return noClaim;
  const secret = { namespace: claim.namespace, name: `${claim.name}-creds` };
  const type = textAt(composite, "spec", "serviceInstanceType") ?? "";
  const resource: Json = {
    apiVersion: `${managedServiceBindings.group}/${managedServiceBindings.version}`,
    kind: managedServiceBindings.kind,
    metadata: { labels: { ...claimLabels(claim), [instanceTypeLabel]: type } },
    spec: {
      forProvider: {
        instanceName: textAt(composite, "spec", "instanceRef") ?? "",
        acceptsIncomplete: valueAt(composite, "spec", "acceptsIncomplete") !== false,
      },
      providerConfigRef: { name: providerConfigName(type) },
      writeConnectionSecretToRef: secret,
    },
  };
  return withCredentials(request, answer(request, resource, reported), secret.name);
};

/** Says which Secret has the credentials and under which keys, once it has some. */
function withCredentials(request: ComposeRequest, response: ComposeResponse, name: string): ComposeResponse {
  const [composed = ""] = Object.keys(response.resources);
  const keys = Object.keys(request.observed[composed]?.connection ?? {}).toSorted();
  if (keys.length === 0) return response;
  const managed = recordAt(response.compositeStatus, "managed");
  return { ...response, compositeStatus: { managed: { ...managed, credentials: { name, keys } } } };
}
