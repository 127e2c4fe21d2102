/** The Compositions of the Configuration. */
import { claimGroup, functionName, type PackageManifest } from "@klutch/api";
import { functionInput, type FunctionInput } from "./function-input.ts";

function composition(name: string, kind: string, resource: FunctionInput["resource"]): PackageManifest {
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name },
    spec: {
      compositeTypeRef: { apiVersion: `${claimGroup}/v1`, kind },
      mode: "Pipeline",
      pipeline: [{ step: "compose", functionRef: { name: functionName }, input: functionInput(resource) }],
    },
  };
}

/** All Compositions. */
export const compositions: readonly PackageManifest[] = [
  composition("a9s-postgresql", "XPostgresqlInstance", "postgresql-instance"),
  composition("a9s-servicebinding", "XServiceBinding", "service-binding"),
];
