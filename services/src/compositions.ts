/** The Compositions of the Configuration: one for each data service and for each shared kind. */
import { claimGroup, functionName, type PackageManifest } from "@klutch/api";
import type { DataService } from "./data-service.ts";
import {
  backupResource,
  bindingResource,
  type FunctionInput,
  functionInput,
  restoreResource,
} from "./function-input.ts";
import { instanceInput } from "./instance-input.ts";
import { services } from "./list.ts";
import { objectInput } from "./object-input.ts";
import { objectsOf } from "./objects-of.ts";

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

/** Of a service's instances: one for each way to make them. */
export function instanceCompositions(service: DataService): readonly PackageManifest[] {
  const { type, kind, connection } = service;
  return [service, ...service.others].map((making) => {
    const { composition: name, parameters, takes } = making;
    const object = objectsOf(making).instance;
    return composition(
      name,
      kind,
      object === undefined
        ? instanceInput({ type, parameters, takes, connection })
        : objectInput([[type, object]], { type, takes }),
    );
  });
}

const sharedKinds = { binding: "ServiceBinding", backup: "Backup", restore: "Restore" } as const;

/** All of them. */
export const compositions: readonly PackageManifest[] = [
  ...services.flatMap(instanceCompositions),
  composition("a9s-servicebinding", "ServiceBinding", functionInput(bindingResource)),
  composition("a9s-backup", "Backup", functionInput(backupResource)),
  composition("a9s-restore", "Restore", functionInput(restoreResource)),
  ...objectCompositions(services),
];

/** Of the shared kinds: one for each backend of objects, with the types that have the kind there. */
export function objectCompositions(all: readonly DataService[]): readonly PackageManifest[] {
  const found = all.flatMap((service) =>
    [service, ...service.others].flatMap((making) =>
      (["binding", "backup", "restore"] as const).flatMap((of) => {
        const object = objectsOf(making)[of];
        if (object === undefined) return [];
        const name = `${making.backend}-${sharedKinds[of].toLowerCase()}`;
        return [{ name, of, entry: [service.type, object] as const }];
      }),
    ),
  );
  return [...Map.groupBy(found, ({ name }) => name)].flatMap(([name, group]) => {
    const [first] = group;
    return first === undefined
      ? []
      : [composition(name, sharedKinds[first.of], objectInput(group.map(({ entry }) => entry)))];
  });
}
