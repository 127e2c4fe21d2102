/** Words by which kubectl finds kinds of Kubernetes: a bound API that took one of them would answer in their place. */

/** Short names, singular and plural names, and categories of the built-in kinds: as a category a word adds to what `kubectl delete all` finds. */
export const builtInWords: readonly string[] = [
  ..."all api-extensions".split(" "),
  ..."cm configmap configmaps ep endpoint endpoints ev event events limits ns namespace namespaces no node nodes".split(
    " ",
  ),
  ..."po pod pods pv persistentvolume persistentvolumes pvc persistentvolumeclaim persistentvolumeclaims rc".split(
    " ",
  ),
  ..."quota resourcequota sa secret secrets serviceaccount serviceaccounts svc service services".split(" "),
  ..."crd crds customresourcedefinition customresourcedefinitions csr controllerrevision".split(" "),
  ..."ds daemonset daemonsets deploy deployment deployments rs replicaset replicasets sts statefulset statefulsets".split(
    " ",
  ),
  ..."hpa cj cronjob cronjobs job jobs ing ingress ingresses netpol networkpolicy networkpolicies pdb".split(
    " ",
  ),
  ..."role roles rolebinding rolebindings clusterrole clusterroles clusterrolebinding clusterrolebindings".split(
    " ",
  ),
  ..."pc sc storageclass storageclasses lease leases".split(" "),
];
