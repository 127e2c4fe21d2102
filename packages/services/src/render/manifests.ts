/** Renders everything that follows from one table. */
import { type PackageManifest, serviceTypeLabel } from "@klutch/api";
import { instanceCompositions, objectCompositions } from "../compositions.ts";
import { backupConfigName, claimResource, type DataService, providerConfigName } from "../data-service.ts";
import type { Generation } from "../generation.ts";
import { type ExampleFile, examplesOf } from "../examples.ts";
import { instanceTemplate, type TemplateManifest } from "../export-templates.ts";
import { pageOf } from "../page.ts";
import { dataServiceOf } from "../table/data-service-of.ts";
import type { ServiceTable } from "../table/service-table.ts";
import type { CompositeResourceDefinition } from "../xrd.ts";
import { instanceXrd } from "../instance-xrd.ts";
import { type ClaimDefinition, claimDefinition } from "./claim-crd.ts";
import { type ArgoHealthConfig, argoHealthOf, type FluxHealthAddition, fluxHealthOf } from "./health.ts";

/** Manifests of a service that is not one of the package, and what people read of it. */
export interface ServiceManifests {
  /** Resource of the claims, such as `exampleinstances.anynines.com`. */
  readonly api: string;
  readonly xrd: CompositeResourceDefinition;
  /** CRD that Crossplane makes of the XRD; for an API server that validates it. */
  readonly claims: ClaimDefinition;
  readonly compositions: readonly PackageManifest[];
  readonly template: TemplateManifest;
  /** Health checks of its claims, for the tools that apply them. */
  readonly health: { readonly argo: ArgoHealthConfig; readonly flux: FluxHealthAddition };
  readonly examples: readonly ExampleFile[];
  /** Markdown. */
  readonly page: string;
  /** Names of the ProviderConfigs that it is made and backed up with; none where everything is made in the cluster. */
  readonly providerConfigs: readonly { readonly name: string; readonly serviceType: string }[];
}

/** Each manifest has the label with the type, by which it is found again. */
export function manifestsOf(generation: Generation, table: ServiceTable): ServiceManifests {
  const service = dataServiceOf(table);
  const xrd = labelled(instanceXrd(generation, service), table.type);
  const { plural, group } = claimResource(table.kind, generation);
  return {
    api: `${plural}.${group}`,
    xrd,
    claims: claimDefinition(xrd),
    compositions: [
      ...instanceCompositions(generation, service),
      ...objectCompositions(generation, [service]),
    ].map((made) => labelled(made, table.type)),
    template: instanceTemplate(generation, service),
    health: { argo: argoHealthOf([xrd]), flux: fluxHealthOf(xrd) },
    examples: examplesOf(generation, service),
    page: pageOf(generation, service, "examples"),
    providerConfigs: configsOf(service),
  };
}

/** Objects in the cluster need no broker, nor do their bindings, backups or restores. */
function configsOf({ type, object, others }: DataService): ServiceManifests["providerConfigs"] {
  if ([object, ...others.map((other) => other.object)].every((one) => one !== undefined)) return [];
  return [
    { name: providerConfigName(type), serviceType: "servicebroker" },
    { name: backupConfigName(type), serviceType: "backupmanager" },
  ];
}

function labelled<T extends { readonly metadata: { readonly name: string } }>(manifest: T, type: string): T {
  return { ...manifest, metadata: { ...manifest.metadata, labels: { [serviceTypeLabel]: type } } };
}
