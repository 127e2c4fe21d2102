/** The claims of the demo, as a developer would write them. */

/** Namespace in app cluster A. */
export const demoNamespace = "demo";
/** Name of the database's claim. */
export const instanceName = "my-database";
/** Name of the binding's claim. */
export const bindingName = "my-credentials";

/** The database. */
const instanceManifest: string = `apiVersion: anynines.com/v1
kind: PostgresqlInstance
metadata:
  name: ${instanceName}
  namespace: ${demoNamespace}
spec:
  service: a9s-postgresql17
  plan: postgresql-single-nano
`;

/** Its credentials. */
const bindingManifest: string = `apiVersion: anynines.com/v1
kind: ServiceBinding
metadata:
  name: ${bindingName}
  namespace: ${demoNamespace}
spec:
  instanceRef: ${instanceName}
  serviceInstanceType: postgresql
`;

/** Name and text of each file, in the order in which they are applied. */
export const claimFiles: readonly (readonly [name: string, text: string])[] = [
  ["namespace.yaml", `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${demoNamespace}\n`],
  ["postgresqlinstance.yaml", instanceManifest],
  ["servicebinding.yaml", bindingManifest],
];
