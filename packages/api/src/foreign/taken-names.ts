/** Names that kubectl gives to kinds of Kubernetes itself. A foreign API that had one would answer for them. */

/** Short names, and whole ones, of the kinds that Kubernetes serves. */
const builtIn: ReadonlySet<string> = new Set(
  [
    "binding,componentstatus,cs,configmap,cm,endpoint,endpoints,ep,event,ev,limitrange,limits,namespace,ns,node,no",
    "persistentvolumeclaim,pvc,persistentvolume,pv,pod,po,podtemplate,replicationcontroller,rc,resourcequota,quota",
    "secret,serviceaccount,sa,service,svc,customresourcedefinition,crd,apiservice",
    "mutatingwebhookconfiguration,validatingwebhookconfiguration,validatingadmissionpolicy,validatingadmissionpolicybinding",
    "mutatingadmissionpolicy,mutatingadmissionpolicybinding,controllerrevision,daemonset,ds,deployment,deploy",
    "replicaset,rs,statefulset,sts,horizontalpodautoscaler,hpa,cronjob,cj,job,certificatesigningrequest,csr,lease",
    "endpointslice,flowschema,prioritylevelconfiguration,ingressclass,ingress,ing,networkpolicy,netpol,runtimeclass",
    "poddisruptionbudget,pdb,clusterrolebinding,clusterrole,rolebinding,role,priorityclass,pc,csidriver,csinode",
    "storageclass,sc,volumeattachment,volumeattributesclass,vac,csistoragecapacity,ipaddress,ip,servicecidr",
    "resourceclaim,resourceclaimtemplate,resourceslice,deviceclass,clustertrustbundle,podcertificaterequest",
  ]
    .join()
    .split(","),
);

/** Groups of kinds that Kubernetes itself has: `kubectl delete all --all` must not delete databases. */
const builtInCategories: ReadonlySet<string> = new Set(["all", "api-extensions"]);

/** Returns the short names that no kind of Kubernetes has, in the singular or the plural. */
export function freeShortNames(names: readonly string[]): readonly string[] {
  return names.filter((name) => !singularsOf(name).some((singular) => builtIn.has(singular)));
}

/** Returns the categories that kinds of Kubernetes do not use. */
export function freeCategories(categories: readonly string[]): readonly string[] {
  return categories.filter((category) => !builtInCategories.has(category));
}

function singularsOf(name: string): readonly string[] {
  return [name, name.replace(/s$/, ""), name.replace(/es$/, ""), name.replace(/ies$/, "y")];
}
