/** Every Klutch kind, wire object, condition, name and naming rule, each defined once. No I/O. */
export * from "./accepted-claims.ts";
export { apiLimit } from "./admission/api-limit.ts";
export type { ApiPolicy } from "./admission/api-policy.ts";
export { backendPolicyManifests, backendPolicyName } from "./admission/backend.ts";
export { binderPolicyManifests } from "./admission/binder.ts";
export { claimMarks } from "./admission/claim-marks.ts";
export {
  autoBindAnnotation,
  autoBindRole,
  type AutoBindScope,
  isAutoBindApi,
  parseAutoBind,
} from "./admission/auto-bind.ts";
export * from "./admission/konnector-container.ts";
export {
  type KonnectorUpdateScope,
  parseUpdateScope,
  updateRole,
  updatesAnnotation,
} from "./admission/konnector-updates.ts";
export { deployRule, offerRules, type OfferingTemplate, shippedOffers } from "./admission/offers.ts";
export { providerPolicyManifests } from "./admission/provider.ts";
export { plainText, printable, printableLines } from "@klutch/kube-core";
export * from "./claim-policy.ts";
export * from "./claim-words.ts";
export {
  konnectorPolicyManifests,
  konnectorPolicyName,
  konnectorPolicyOf,
} from "./admission/konnector.ts";
export { claimRights, type KonnectorScope, konnectorScopeOf } from "./admission/konnector-scope.ts";
export { autoBindManifests } from "./auto-bind-manifests.ts";
export * from "./cluster-key.ts";
export * from "./confirmed-login.ts";
export { clusterIdentityNamespace, controlPlaneIdOf } from "./control-plane-id.ts";
export * from "./crds.ts";
export * from "./crossing-keys.ts";
export * from "./device-login.ts";
export * from "./export-snapshot.ts";
export { announcedDescription, parseAnnouncedApis } from "./foreign/announced-apis.ts";
export { checkApiFullName, checkApiName, isBuiltInGroup } from "./foreign/api-name.ts";
export { type ForeignClusterBinding, parseClusterBinding } from "./foreign/cluster-binding.ts";
export { type ForeignExport, parseExport } from "./foreign/export.ts";
export { type ForeignMapping, parseNamespaceMapping } from "./foreign/namespace-mapping.ts";
export { decodeOfferedApi, type OfferedApi } from "./foreign/offered-api.ts";
export { base62Hash } from "./hash.ts";
export * from "./kinds/api-service-binding.ts";
export {
  type APIServiceExport,
  type APIServiceExportSpec,
  type APIServiceExportStatus,
  type ClusterScopedIsolation,
  type CrdNames,
  type ExportColumn,
  type ExportVersion,
  type InformerScope,
} from "./kinds/api-service-export.ts";
export * from "./kinds/api-service-export-request.ts";
export * from "./kinds/api-service-export-template.ts";
export * from "./kinds/api-service-namespace.ts";
export * from "./kinds/app-cluster-binding.ts";
export * from "./kinds/backup.ts";
export * from "./kinds/cluster-binding.ts";
export { type Grant, type GrantIdentity, type GrantSpec, type TemplateReference } from "./kinds/grant.ts";
export {
  type AnnouncedApi,
  announcedPrice,
  type ClusterSecretKeyRef,
  type GroupResource,
  type LocalSecretKeyRef,
  mostAnnounced,
  type ObjectLimit,
} from "./kinds/common.ts";
export type {
  AnsweredPermissionClaim,
  ClaimOwner,
  ClaimSelector,
  PermissionClaim,
} from "./kinds/permission-claim.ts";
export type {
  ConfigReference,
  ManagedResource,
  ManagedSpec,
  ManagementAction,
  SecretKeySelector,
  SecretReference,
} from "./kinds/managed-common.ts";
export * from "./kinds/managed-service-binding.ts";
export {
  type AppCluster,
  type AppClusterIdentity,
  type AppClusterSpec,
  type AppClusterStatus,
  konnectorSubject,
} from "./kinds/app-cluster.ts";
export * from "./kinds/provider-config.ts";
export * from "./kinds/service-instance.ts";
export { decimalPattern } from "./decimal.ts";
export {
  mostMembersShown,
  type ObjectMaximum,
  type Tenant,
  type TenantBudget,
  type TenantBudgetStatus,
  type TenantLimits,
  type TenantMember,
  type TenantSpec,
  type TenantStatus,
} from "./kinds/tenant.ts";
export {
  byteSecondsPattern,
  type LedgerBackups,
  type LedgerEntry,
  type LedgerRow,
  type UsageLedger,
} from "./kinds/usage-ledger.ts";
export {
  addedBackups,
  backupEnded,
  backupKept,
  type BackupUsage,
  backupUsageOf,
  backupUsageText,
  isBackupSize,
  isUnsized,
  type KeptBackups,
  type KeptRow,
  keptRowsUntil,
  mostBackupBytes,
  noBackupSize,
  parsedBackupUsage,
  type SeenBackup,
} from "./backup-usage.ts";
export {
  bytesAttribute,
  claimNameOf,
  idleDays,
  idleDaysOf,
  lastSessionAttribute,
  type Measured,
  measuredOf,
  type Measurement,
  mostInstanceBytes,
  nextMeasurement,
  type Told,
  toldBy,
} from "./measurement.ts";
export {
  type KonnectorRollout,
  type KonnectorRolloutSpec,
  type KonnectorRolloutStatus,
  mostLeftShown,
  type RolloutLeft,
  type RolloutStop,
  type RolloutWave,
} from "./kinds/konnector-rollout.ts";
export * from "./konnector-manifests.ts";
export * from "./konnector-updates.ts";
export { displayName, displayNameLimit } from "./display-name.ts";
export * from "./login-wish.ts";
export * from "./names.ts";
export * from "./object-state.ts";
export * from "./noninteractive-bind.ts";
export * from "./naming.ts";
export { type ApiLimit, isLimitReached, limitWords } from "./object-limit.ts";
export * from "./packages.ts";
export { type NodePorts, nodePortService } from "./node-ports.ts";
export * from "./pod.ts";
export * from "./pinned-provider.ts";
export * from "./rbac.ts";
export * from "./release.ts";
export * from "./renewal.ts";
export * from "./resources.ts";
export { type AnswerKey, newAnswerKey } from "./sealed-answer.ts";
export * from "./secret-types.ts";
export {
  decodeSessionDeviceRequest,
  decodeSessionRequest,
  decodeSessionTemplates,
  heldOf as heldSessionOf,
  type IssuedSession,
  isSessionText,
  openSession,
  openSessionOffer,
  personOf as sessionPersonOf,
  sealSession,
  sealSessionOffer,
  type SessionDeviceRequest,
  sessionLogin,
  type SessionOffer,
  type SessionPerson,
  sessionPrefix,
  type SessionPrice,
  type SessionTemplate,
  type SessionTemplates,
  sessionUrls,
} from "./session.ts";
export * from "./trace-context.ts";
export { updateArguments, updateManifests } from "./update-manifests.ts";
export * from "./versions.ts";
export * from "./wire.ts";
export { withoutHiddenFields } from "./hidden-fields.ts";
export { withServiceTypes } from "./service-types.ts";
export { checkReadyCondition, readyConditionOf } from "./ready-condition.ts";
export { checkSecretNameField, secretNameFieldOf } from "./secret-name-field.ts";
export {
  isMonth,
  monthAt,
  monthPattern,
  missingAnnotation,
  existingPlanOf,
  missingSince,
  rowsUntil,
  samePlan,
  type Usage,
  recordedPlanOf,
  usageAnnotation,
  usageAsked,
  usageBegun,
  usageEnded,
  usageNamespaceOf,
  usageOf,
  usageText,
  type UsedPlan,
  usedPlanOf,
  type UsedSeconds,
} from "./usage.ts";
