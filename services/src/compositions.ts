/** The Compositions of the Configuration: one for each data service and for each shared kind. */
import { claimGroup, functionName, type PackageManifest } from "@klutch/api";
import { compositionName, functionResource } from "./data-service.ts";
import { backupResource, bindingResource, functionInput, restoreResource } from "./function-input.ts";
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
  composition("a9s-backup", "Backup", backupResource),
  composition("a9s-restore", "Restore", restoreResource),
];
