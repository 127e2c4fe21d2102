/** Every data service, and everything that follows from their tables. */
export { backendClaimRules } from "./backend-rights.ts";
export { type TableFromCatalog, tableFromCatalog } from "./catalog/from-catalog.ts";
export { CatalogError } from "./catalog/offered-service.ts";
export { brokerParameters, type ComposedService } from "./composed-service.ts";
export { compositionsOf } from "./compositions.ts";
export {
  backupConfigName,
  claimResource,
  type DataService,
  functionResource,
  providerConfigName,
  typeOfProviderConfig,
} from "./data-service.ts";
export { type ExampleFile, exampleFilesOf } from "./examples.ts";
export { exportTemplatesOf } from "./export-templates.ts";
export {
  backupResource,
  bindingResource,
  inputRevision,
  restoreResource,
  revisionProblem,
} from "./function-input.ts";
export { type Generation, generations, legacy, v2 } from "./generation.ts";
export { instanceInput, instanceResource, readInstanceInput } from "./instance-input.ts";
export { type ManagedInputRead, managedResourceInput, readManagedInput } from "./managed-input.ts";
export * from "./prices.ts";
export { services, serviceOfType } from "./list.ts";
export {
  type ComposedObject,
  defaultObjectConfig,
  type ObjectInputRead,
  objectInput,
  objectResource,
  readObjectInput,
} from "./object-input.ts";
export { type CrossplanePackage, packagesOf } from "./packages.ts";
export { pageOf } from "./page.ts";
export { shippedTables as serviceTables } from "./shipped-tables.ts";
export { sharedXrdsOf } from "./shared-xrds.ts";
export type { CompositeResourceDefinition } from "./xrd.ts";
export { xrdsOf } from "./xrds.ts";
export {
  describeFault,
  type Fault,
  type PlacedFile,
  readTable,
  type ReadResult,
} from "./table/read-table.ts";
export { serviceTypePattern } from "./table/file-schema.ts";
export type { ConnectionSource, ServiceTable } from "./table/service-table.ts";
export type { ManifestRecipe, Reported } from "./table/object-table.ts";
export { ruleField } from "./table/rule-places.ts";
export { connectionDetails } from "./render/connection.ts";
export { connectionText, readConnectionText } from "./render/connection-text.ts";
export { type ArgoHealthConfig, argoHealth, type FluxHealthPatch, fluxHealth } from "./render/health.ts";
export { manifestsOf, type ServiceManifests } from "./render/manifests.ts";
export { type UsualTimes, usualTimes } from "./usual-times.ts";
