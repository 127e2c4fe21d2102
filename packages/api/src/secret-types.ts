/** Types of Secrets that may cross between clusters. The list is short, because controllers of either cluster act on types. */

/** Under every permission claim on Secrets. */
export const crossingSecretTypes: readonly string[] = [
  "Opaque",
  "connection.crossplane.io/v1alpha1",
  "kubernetes.io/tls",
  "kubernetes.io/basic-auth",
  "kubernetes.io/ssh-auth",
  "kubernetes.io/dockerconfigjson",
];

/** Beginning of the types of the Service Binding specification, which cross as well. */
export const serviceBindingPrefix = "servicebinding.io/";
