/** The Compositions of the Configuration: one for each data service, one for bindings. */
import { claimGroup, functionName, type PackageManifest } from "@klutch/api";
import { compositionName, functionResource } from "./data-service.ts";
import { bindingResource, functionInput } from "./function-input.ts";
import { services } from "./list.ts";

function composition(name: string, claimKind: string, resource: string): PackageManifest {
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name },
    spec: {
      compositeTypeRef: { apiVersion: `${claimGroup}/v1`, kind: `X${claimKind}` },
      mode: "Pipeline",
      pipeline: [{ step: "compose", functionRef: { name: functionName }, input: functionInput(resource) }],
    },
  };
}

/** All of them. */
export const compositions: readonly PackageManifest[] = [
  ...services.map((service) =>
    composition(compositionName(service), service.kind, functionResource(service)),
  ),
  composition("a9s-servicebinding", "ServiceBinding", bindingResource),
];
