/**
 * Words by which kubectl finds kinds of Kubernetes. A bound API that took one of them would answer in their place, and as a category a word
 * adds to what `kubectl delete all --all` finds.
 */

/** Singular, plural and short names of the built-in kinds, and their categories; a test compares them with a real API server. */
export const builtInWords: readonly string[] = [
  "all api-extensions",
  "binding bindings componentstatus componentstatuses cs configmap configmaps cm endpoint endpoints ep event events ev",
  "limitrange limitranges limits namespace namespaces ns node nodes no pod pods po podtemplate podtemplates",
  "persistentvolumeclaim persistentvolumeclaims pvc persistentvolume persistentvolumes pv",
  "replicationcontroller replicationcontrollers rc resourcequota resourcequotas quota secret secrets",
  "serviceaccount serviceaccounts sa service services svc",
  "customresourcedefinition customresourcedefinitions crd crds apiservice apiservices",
  "mutatingwebhookconfiguration mutatingwebhookconfigurations validatingwebhookconfiguration validatingwebhookconfigurations",
  "validatingadmissionpolicy validatingadmissionpolicies validatingadmissionpolicybinding validatingadmissionpolicybindings",
  "mutatingadmissionpolicy mutatingadmissionpolicies mutatingadmissionpolicybinding mutatingadmissionpolicybindings",
  "controllerrevision controllerrevisions daemonset daemonsets ds deployment deployments deploy",
  "replicaset replicasets rs statefulset statefulsets sts horizontalpodautoscaler horizontalpodautoscalers hpa",
  "cronjob cronjobs cj job jobs certificatesigningrequest certificatesigningrequests csr lease leases",
  "tokenreview tokenreviews selfsubjectreview selfsubjectreviews subjectaccessreview subjectaccessreviews",
  "localsubjectaccessreview localsubjectaccessreviews selfsubjectaccessreview selfsubjectaccessreviews",
  "selfsubjectrulesreview selfsubjectrulesreviews leasecandidate leasecandidates storageversion storageversions",
  "endpointslice endpointslices flowschema flowschemas prioritylevelconfiguration prioritylevelconfigurations",
  "ingressclass ingressclasses ingress ingresses ing networkpolicy networkpolicies netpol runtimeclass runtimeclasses",
  "poddisruptionbudget poddisruptionbudgets pdb role roles rolebinding rolebindings",
  "clusterrole clusterroles clusterrolebinding clusterrolebindings priorityclass priorityclasses pc",
  "csidriver csidrivers csinode csinodes csistoragecapacity csistoragecapacities storageclass storageclasses sc",
  "volumeattachment volumeattachments volumeattributesclass volumeattributesclasses vac",
  "storageversionmigration storageversionmigrations ipaddress ipaddresses ip servicecidr servicecidrs",
  "resourceclaim resourceclaims resourceclaimtemplate resourceclaimtemplates resourceslice resourceslices",
  "deviceclass deviceclasses devicetaintrule devicetaintrules clustertrustbundle clustertrustbundles",
  "podcertificaterequest podcertificaterequests workload workloads podgroup podgroups",
  "resourcepoolstatusrequest resourcepoolstatusrequests",
].flatMap((line) => line.split(" "));

const taken: ReadonlySet<string> = new Set(builtInWords);

/** Returns the short names or categories that are no words of Kubernetes' own. */
export function freeWords(words: readonly string[]): readonly string[] {
  return words.filter((word) => !taken.has(word.toLowerCase()));
}

/** Returns true if kubectl would find the API by a word of Kubernetes. A singular that follows from the plural is what a person bound. */
export function isTakenSingular(singular: string, plural: string): boolean {
  const word = singular.toLowerCase();
  return taken.has(word) && !pluralsOf(word).includes(plural);
}

/** The same forms as in the admission policy (admission/konnector.ts). */
function pluralsOf(word: string): readonly string[] {
  return [word, `${word}s`, `${word}es`, word.replace(/y$/, "ies")];
}
