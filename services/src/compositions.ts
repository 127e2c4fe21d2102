/** The Compositions of the Configuration: one for each data service and for each shared kind. */
import { claimGroup, functionName, type PackageManifest } from "@klutch/api";
import { compositionName, type DataService } from "./data-service.ts";
import {
  backupResource,
  bindingResource,
  type FunctionInput,
  functionInput,
  restoreResource,
} from "./function-input.ts";
import { instanceInput } from "./instance-input.ts";
import { services } from "./list.ts";

function composition(name: string, claimKind: string, input: FunctionInput): PackageManifest {
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name },
    spec: {
      compositeTypeRef: { apiVersion: `${claimGroup}/v1`, kind: `X${claimKind}` },
      mode: "Pipeline",
      pipeline: [{ step: "compose", functionRef: { name: functionName }, input }],
    },
  };
}

/** Of a service's instances. */
export function instanceComposition(service: DataService): PackageManifest {
  return composition(compositionName(service), service.kind, instanceInput(service));
}

/** All of them. */
export const compositions: readonly PackageManifest[] = [
  ...services.map(instanceComposition),
  composition("a9s-servicebinding", "ServiceBinding", functionInput(bindingResource)),
  composition("a9s-backup", "Backup", functionInput(backupResource)),
  composition("a9s-restore", "Restore", functionInput(restoreResource)),
];
