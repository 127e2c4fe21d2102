/** The Compositions of the Configuration: one for each data service and for each shared kind. */
import { claimGroup, functionName, type PackageManifest } from "@klutch/api";
import { compositionName } from "./data-service.ts";
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

/** All of them. */
export const compositions: readonly PackageManifest[] = [
  ...services.map((service) => composition(compositionName(service), service.kind, instanceInput(service))),
  composition("a9s-servicebinding", "ServiceBinding", functionInput(bindingResource)),
  composition("a9s-backup", "Backup", functionInput(backupResource)),
  composition("a9s-restore", "Restore", functionInput(restoreResource)),
];
