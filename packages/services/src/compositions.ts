/** The Compositions of the Configuration: one for each data service and for each shared kind. */
import { functionName, type PackageManifest } from "@klutch/api";
import type { DataService } from "./data-service.ts";
import {
  backupResource,
  bindingResource,
  type FunctionInput,
  functionInput,
  restoreResource,
} from "./function-input.ts";
import { compositionName, type Generation } from "./generation.ts";
import { instanceInput } from "./instance-input.ts";
import { services } from "./list.ts";
import { objectInput } from "./object-input.ts";
import { objectsOf } from "./objects-of.ts";
import { pricesAnnotation, pricesText } from "./prices/price-list.ts";

/** The name is that for legacy claims. The function sees by the composite's namespace which generation it composes for. */
function composition(
  generation: Generation,
  name: string,
  claimKind: string,
  input: FunctionInput,
  prices?: string,
): PackageManifest {
  const kind = generation.name === "legacy" ? `X${claimKind}` : claimKind;
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: {
      name: compositionName(generation, name),
      ...(prices === undefined ? {} : { annotations: { [pricesAnnotation]: prices } }),
    },
    spec: {
      compositeTypeRef: { apiVersion: `${generation.group}/v1`, kind },
      mode: "Pipeline",
      pipeline: [{ step: "compose", functionRef: { name: functionName }, input }],
    },
  };
}

/** Returns the Compositions of a service's instances: one for each way to make them. */
export function instanceCompositions(
  generation: Generation,
  service: DataService,
): readonly PackageManifest[] {
  const { type, kind, connection, takesRegion } = service;
  return [service, ...service.others].map((making) => {
    const { composition: name, parameters, takes } = making;
    const object = objectsOf(making).instance;
    return composition(
      generation,
      name,
      kind,
      object === undefined
        ? instanceInput({ type, parameters, takes, connection, takesRegion })
        : objectInput([[type, object]], { type, takes }),
      pricesText(making.offerings, making.prices),
    );
  });
}

const sharedKinds = { binding: "ServiceBinding", backup: "Backup", restore: "Restore" } as const;

/** All of a generation. */
export function compositionsOf(generation: Generation): readonly PackageManifest[] {
  const shared = (name: string, kind: string, resource: string): PackageManifest =>
    composition(generation, name, kind, functionInput(resource));
  return [
    ...services().flatMap((service) => instanceCompositions(generation, service)),
    shared("a9s-servicebinding", "ServiceBinding", bindingResource),
    shared("a9s-backup", "Backup", backupResource),
    shared("a9s-restore", "Restore", restoreResource),
    ...objectCompositions(generation, services()),
  ];
}

/** Returns those of the shared kinds: one for each backend of objects, with the types that have the kind there. */
export function objectCompositions(
  generation: Generation,
  all: readonly DataService[],
): readonly PackageManifest[] {
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
      : [composition(generation, name, sharedKinds[first.of], objectInput(group.map(({ entry }) => entry)))];
  });
}
