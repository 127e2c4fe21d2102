/** The claims of the demo, as a developer would write them. */

/** Namespace in app cluster A. */
export const demoNamespace = "demo";
/** Name of the database's claim. */
export const instanceName = "my-database";
/** Name of the binding's claim. */
export const bindingName = "my-credentials";
/** Name of the backup's claim. */
export const backupName = "my-backup";
/** Name of the restore's claim. */
export const restoreName = "my-restore";

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

/** What the database holds now. */
const backupManifest: string = `apiVersion: anynines.com/v1
kind: Backup
metadata:
  name: ${backupName}
  namespace: ${demoNamespace}
spec:
  instanceRef: ${instanceName}
  serviceInstanceType: postgresql
`;

/** Puts it back. */
const restoreManifest: string = `apiVersion: anynines.com/v1
kind: Restore
metadata:
  name: ${restoreName}
  namespace: ${demoNamespace}
spec:
  backupRef: ${backupName}
  instanceRef: ${instanceName}
  serviceInstanceType: postgresql
`;

/** Text of each file for `kubectl apply`. */
export const demoFiles: Readonly<Record<string, string>> = {
  "namespace.yaml": `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${demoNamespace}\n`,
  "postgresqlinstance.yaml": instanceManifest,
  "servicebinding.yaml": bindingManifest,
  "backup.yaml": backupManifest,
  "restore.yaml": restoreManifest,
};
