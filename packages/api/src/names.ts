/** Names on the wire, each defined once. docs/reference/names.md lists them. */

/** API group of the bind kinds. */
export const bindGroup = "klutch.anynines.com";
/** API group of APIServiceExportTemplate. */
export const templateGroup = "example-backend.klutch.anynines.com";
/** API group of the provider's kinds. */
export const dataservicesGroup = "dataservices.anynines.com";
/** API group of the provider's namespaced kinds. A CRD has one scope, so they cannot be in the group of the cluster-scoped ones. */
export const namespacedDataservicesGroup = "dataservices.m.anynines.com";
/** API group of the claims and composites of the shipped Configuration. */
export const claimGroup = "anynines.com";
/** API group of the claims that are namespaced composites. A CustomResourceDefinition has one scope, so they need one of their own. */
export const namespacedClaimGroup = "m.anynines.com";

/** Finalizer of synced objects in the app cluster. */
export const syncerFinalizer = "klutch.anynines.com/syncer";
/** Finalizer of AppClusterBinding. */
export const appClusterBindingFinalizer = "klutch.anynines.com/appclusterbinding-cleanup";

/** Finalizer of APIServiceBinding: unbinding is finished before the binding is gone. */
export const unbindFinalizer = "klutch.anynines.com/unbind";

/** `Orphan` (default) or `Delete` on an APIServiceBinding: what its deletion does with claims and upstream objects. */
export const unbindPolicyAnnotation = "klutch.anynines.com/unbind-policy";
/** Annotation on an APIServiceBinding: the hash of a breaking schema that may be rolled out (the condition's message names it). */
export const releaseSchemaAnnotation = "klutch.anynines.com/release-schema";
/** Annotation on an APIServiceBinding: a new value releases the mass deletion that the condition DeletionHeld reports. On a namespace of the app cluster, `true` lets its claims go with it. */
export const releaseDeletionsAnnotation = "klutch.anynines.com/release-deletions";
/** Annotation on an APIServiceBinding or a claim: a time after the control plane was restored allows new objects for claims that lost theirs. */
export const releaseCreationsAnnotation = "klutch.anynines.com/release-creations";
/** Annotation on an APIServiceBinding: the highest version of the provider that the konnector has seen for this API. */
export const providerVersionAnnotation = "klutch.anynines.com/provider-version";
/** Annotation on an APIServiceBinding: UID of the provider's kube-system namespace, pinned at the first contact. */
export const providerUidAnnotation = "klutch.anynines.com/provider-uid";
/** Label of everything that an AppClusterBinding made. Values longer than 63 characters have a hashed tail. */
export const appClusterBindingNameLabel = "klutch.anynines.com/appclusterbinding-name";
/** Annotation on an APIServiceBinding: time since which the provider is unreachable, RFC 3339. */
export const unreachableSinceAnnotation = "klutch.anynines.com/unreachable-since";
/** Label on the consumer's copies of claimed objects: UID of the cluster namespace they come from. */
export const claimedFromLabel = "klutch.anynines.com/claimed-from";

/** `Cluster` on a template: app clusters get the namespaced kind as a cluster-scoped one, kept apart by isolation Namespaced. */
export const consumerScopeAnnotation = "klutch.anynines.com/consumer-scope";
/** Annotation on a template: comma-separated paths of fields that app clusters do not get, such as `spec.crossplane.resourceRefs`. */
export const hiddenFieldsAnnotation = "klutch.anynines.com/hidden-fields";
/** Name in the app cluster of a cluster-scoped object, where its upstream name does not say it. */
export const consumerNameAnnotation = "klutch.anynines.com/consumer-name";
/** "true" on the provider's claimed objects that were handed out once and are not made again when the consumer deletes its copy. */
export const deliveredAnnotation = "klutch.anynines.com/delivered";
/** Annotation on copies of claimed objects that hold more than payload: hash of the source's part, to notice removed fields. */
export const sourceHashAnnotation = "klutch.anynines.com/source-hash";

/** Condition of an APIServiceBinding, only present while it is True: the API server may give new claims our marks when they are created. */
export const claimMarksCondition = "MarksAtAdmission";

/** "true" on objects that are synced, on both sides. */
export const boundAnnotation = "klutch.anynines.com/bound";
/** Annotation on a claim that was restored from its upstream object, until its fields are handed over to the applier. */
export const restoredAnnotation = "klutch.anynines.com/restored";
/**
 * Annotation on upstream objects: digest of the claim content that they hold, as 16 hexadecimal digits. The program that reconciles the object
 * reports by `specObservedCondition` which content that was.
 */
export const specDigestAnnotation = "klutch.anynines.com/spec-digest";
/** Condition of upstream objects, True: the spec was looked at whose mark its reason names, `specObservedReason`. */
export const specObservedCondition = "klutch.anynines.com/SpecObserved";
/** Condition of a claim on the provider, only there while it is False: Crossplane cannot compose what the claim asks for. */
export const composedCondition = "klutch.anynines.com/Composed";
/** The reason of `specObservedCondition` for the value of `specDigestAnnotation`. */
export function specObservedReason(mark: string): string {
  return `Sha256_${mark}`;
}
/** `ignore` on a template and its exports: the generations in a status of this API say nothing about the spec that it was made for. */
export const observedGenerationAnnotation = "klutch.anynines.com/observed-generation";
/**
 * Annotation, "true" on objects of the app cluster that came from the provider, which had them first. They do not open their namespace for
 * claimed objects; to open it, remove the annotation.
 */
export const adoptedAnnotation = "klutch.anynines.com/adopted";
/** `Provider` or `Consumer` on claimed objects. */
export const resourceOwnerAnnotation = "klutch.anynines.com/resource-owner";
/** Cluster namespace on cluster-scoped objects of the provider. */
export const clusterNamespaceAnnotation = "klutch.anynines.com/cluster-namespace";
/** `<cluster namespace>/<consumer namespace>` on service namespaces. */
export const serviceNamespaceAnnotation = "klutch.anynines.com/api-service-namespace";
/** `<oidc subject>#<cluster id>` on cluster namespaces. */
export const identityAnnotation = "example-backend.klutch.anynines.com/identity";
/** Issuer of the identity, which the annotation above leaves out. A backend written in Go does not know it. */
export const issuerAnnotation = "klutch.anynines.com/identity-issuer";
/** Issuer of a founder who was removed, which no login has. */
export const removedIssuer = "klutch:removed";
/** Client id on cluster namespaces that a program founded by client credentials: such a tenant is never a person's, and no other client's. */
export const ciClientAnnotation = "klutch.anynines.com/ci-client";
/** Name of the app cluster, for people, on its ClusterBinding: what `kubectl bind --cluster-name` said. It proves nothing. */
export const clusterNameAnnotation = "klutch.anynines.com/cluster-name";
/** Name of the person who bound last, for people, on a ClusterBinding: what the identity provider said. It proves nothing. */
export const boundByAnnotation = "klutch.anynines.com/bound-by";
/** `<namespace>/<name>` of the AppClusterBinding on everything it made; on a namespace the proof that it is ours. */
export const appClusterBindingAnnotation = "klutch.anynines.com/appclusterbinding";
/** Hash of the CRD-derived part of an export's spec. */
export const sourceSpecHashAnnotation = "klutch.anynines.com/source-spec-hash";

/** Field manager of every server-side apply that Klutch makes. */
export const fieldManager = "klutch.anynines.com";

/** Name of the service account, its token Secret and the role bindings in a cluster namespace. */
export const binderName = "klutch-binder";

/** Secret of the app cluster with the kubeconfig that the konnector gets by its own token. */
export const ownBindSecret = "appcluster-kubeconfig";

/** Annotation of an APIServiceBinding that the konnector created by itself (designs/0034-additions.md). */
export const autoBoundAnnotation = "klutch.anynines.com/auto-bound";

/**
 * Label of a Tenant: the version that operators want its konnector to have (designs/0034-additions.md). Annotation of a ClusterBinding: the version
 * that a KonnectorRollout gives it, which the app cluster's account can read and not write.
 */
export const wantedKonnectorLabel = "klutch.anynines.com/konnector-version";

/** Annotation of a ClusterBinding: the KonnectorRollout and the wave that gave it the version, as JSON (designs/0035-waves.md). */
export const rolloutRecordAnnotation = "klutch.anynines.com/konnector-rollout";

/** Name of the ClusterRole with the right to bind every offered API; operators bind it to people and groups. */
export const bindAllName = "klutch-bind-all";

/**
 * Annotation on a ClusterBinding, and on a kubeconfig Secret of an app cluster: `confirmed`, `redirect`, `ci` or `token`, the way of the last login. Earlier
 * plugins write none on the Secret.
 */
export const loginWayAnnotation = "klutch.anynines.com/login";
/** Finalizer of Grant: its deletion revokes before the record is gone. */
export const grantFinalizer = "klutch.anynines.com/revocation";
/**
 * Annotation on an export: since when its API is revoked, RFC 3339. The backend sets it when the last Grant for the API is deleted, and removes it when
 * somebody binds the API again.
 */
export const revokedAnnotation = "klutch.anynines.com/revoked";
/** ResourceQuota in each cluster namespace. */
export const tenantQuotaName = "klutch-tenant";
/** ResourceQuota in each service namespace of a tenant with limits of objects. */
export const tenantLimitsName = "klutch-tenant-limits";
/** Name of the one Tenant that counts in a cluster namespace. */
export const tenantName = "tenant";
/** Name of the Role and RoleBinding of a konnector in the root namespace of an AppClusterBinding. */
export const connectorRoleName = "control-plane-connector";
/** Namespace of Klutch in an app cluster; also the name of the konnector's lease. */
export const consumerNamespace = "klutch-bind";
/** Name of the konnector's service account and Deployment. */
export const konnectorName = "konnector";
/** Name of the kubeconfig Secret in a cluster namespace, and the only key that kubeconfig Secrets may use. */
export const kubeconfigKey = "kubeconfig";
/** Name of the one ClusterBinding in a cluster namespace. */
export const clusterBindingName = "cluster";
/** API group of the composition function's input. */
export const fnGroup = "fn.klutch.anynines.com";

/** Labels that Crossplane puts on what belongs to a claim. */
export const claimNameLabel = "crossplane.io/claim-name";
/** See `claimNameLabel`. */
export const claimNamespaceLabel = "crossplane.io/claim-namespace";
/** Type of a data service, on the template that offers its instances, and on all that was applied from its table. */
export const serviceTypeLabel = "klutch.anynines.com/service-type";
/** Annotation beside `serviceTypeLabel` on a template: the name of the service for people. Default: its type. */
export const serviceTitleAnnotation = "klutch.anynines.com/service-title";
/** Annotation on a template: the field of its kind, as `spec.serviceInstanceType`, that in app clusters accepts only types that templates offer. */
export const serviceTypeFieldAnnotation = "klutch.anynines.com/service-type-field";
/** Annotation beside `serviceTypeLabel`, `none`: the service has no backups; beside `serviceTypeFieldAnnotation`, `needed`: the kind is for services that have them. */
export const serviceBackupsAnnotation = "klutch.anynines.com/service-backups";
/** Annotation on a template and its exports: the field, as `spec.secretName`, with the name of the Secret that the operator of the kind makes. */
export const secretNameFieldAnnotation = "klutch.anynines.com/secret-name-field";
/** Annotation on a template and its exports: the type of the condition, as `ACK.ResourceSynced`, that stands for `Ready` where the operator has none. */
export const readyConditionAnnotation = "klutch.anynines.com/ready-condition";
/** Annotation on a ServiceInstance: the address fields in its bindings' credentials, as JSON of its table's `credentials.connection`. */
export const connectionAnnotation = "klutch.anynines.com/connection";
/** Kind of data service of a managed ServiceBinding. */
export const instanceTypeLabel = "klutch.io/instance-type";
/** Label on a ProviderConfig beside `serviceTypeLabel`: the region of its broker; on a managed resource: the region it is made in. */
export const regionLabel = "klutch.anynines.com/region";
/** Label on a ProviderConfig, "true": its broker gets no new instances. */
export const drainedLabel = "klutch.anynines.com/drained";
/** Label on a ProviderConfig, "true": only namespaces and app clusters whose rule names its region may have it. */
export const reservedLabel = "klutch.anynines.com/reserved";
/** Label on a ProviderConfig, "true": instances of claims without a region are made here. */
export const defaultBrokerLabel = "klutch.anynines.com/default-broker";
/** Annotation on a ProviderConfig: its region in words, for developers. */
export const regionAboutAnnotation = "klutch.anynines.com/about";

/** Condition of composite and claim that explains `Ready` of the claim: one word, the words of who works on it, what to change. */
export const readyWordsCondition = "klutch.anynines.com/Ready";
/** Condition like `readyWordsCondition`, for `Synced`: whether the claim's request was accepted. */
export const syncedWordsCondition = "klutch.anynines.com/Synced";
/** `<apiVersion>/<kind>` of the claim, on its managed resource. */
export const claimKindAnnotation = "klutch.anynines.com/claim-kind";
/** Annotation, "true" on an Object of provider-kubernetes whose claim was ready once: if it is not ready now, it is not new. */
export const wasReadyAnnotation = "klutch.anynines.com/was-ready";
/** Annotation on a managed ServiceBinding: the versions of its credentials at the broker. */
export const bindingGenerationsAnnotation = "anynines.crossplane.io/binding-generations";
/**
 * Annotation, "true" on a managed ServiceBinding that was bound. The Go provider binds one that lacks it, under the object's UID, and writes
 * the answer over its Secret.
 */
export const bindingCreatedAnnotation = "anynines.crossplane.io/servicebinding-created";

/** Label of ClusterRoles with rights on claims and composites that the backend is to have; value `true`. */
export const aggregateToBackendLabel = "klutch.anynines.com/aggregate-to-backend";
/** ClusterRole that aggregates these; its rules with the verbs below are the list of what the backend may hand out. */
export const backendClaimsRoleName = "klutch-backend-claims";
/** ClusterRole with the rights that the backend has only where control-plane mode runs. */
export const controlPlaneModeRoleName = "klutch-backend-control-plane-mode";
/** ClusterRole with the rights that the backend has only where it serves the console. */
export const consoleRoleName = "klutch-backend-console";
/** Verb of a rule in such a ClusterRole: app clusters may be given rights on the kind. It gives no one a right of Kubernetes. */
export const offerVerb = "offer";
/** Verb of a rule in such a ClusterRole: konnectors of control-plane mode may run the images that `resourceNames` say. */
export const deployVerb = "deploy";

/** Label by which Kubernetes holds the Pods of a namespace against a Pod Security Standard. */
export const podSecurityLabel = "pod-security.kubernetes.io/enforce";
/** The level of namespaces that the backend makes. */
export const podSecurityLevel = "restricted";
