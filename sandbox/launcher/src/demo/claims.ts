/** The claims of the demo, as a developer would write them. */

/** Namespace in app cluster A. */
export const demoNamespace = "demo";

/** A data service of the demo. Its claims are all called `name`. */
export interface DemoService {
  /** `serviceInstanceType` of its bindings. */
  readonly type: string;
  readonly kind: string;
  readonly service: string;
  readonly plan: string;
  readonly name: string;
}

/** All that the sandbox's broker may offer. */
export const demoServices: Readonly<Record<"postgresql" | "mariadb" | "keyvalue", DemoService>> = {
  postgresql: {
    type: "postgresql",
    kind: "PostgresqlInstance",
    service: "a9s-postgresql17",
    plan: "postgresql-single-nano",
    name: "my-postgresql",
  },
  mariadb: {
    type: "mariadb",
    kind: "MariadbInstance",
    service: "a9s-mariadb1011",
    plan: "mariadb-single-nano-ssl",
    name: "my-mariadb",
  },
  keyvalue: {
    type: "keyvalue",
    kind: "KeyvalueInstance",
    service: "a9s-keyvalue8",
    plan: "keyvalue-single-nano-ssl",
    name: "my-keyvalue",
  },
};

/** The file with the claim of this operation on a service's instance. */
export function claimFile({ type }: DemoService, operation: Operation): string {
  return `${type}-${operation}.yaml`;
}

type Operation = "instance" | "binding" | "backup" | "restore";

/** File that makes the namespace. */
export const namespaceFile = "namespace.yaml";

/** Text of each file for `kubectl apply`. */
export const demoFiles: Readonly<Record<string, string>> = Object.fromEntries([
  [namespaceFile, `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${demoNamespace}\n`],
  ...Object.values(demoServices).flatMap(filesOf),
]);

function filesOf(demo: DemoService): readonly (readonly [name: string, text: string])[] {
  const { kind, service, plan, type, name } = demo;
  const reference = { instanceRef: name, serviceInstanceType: type };
  return [
    [claimFile(demo, "instance"), manifest(kind, name, { service, plan })],
    [claimFile(demo, "binding"), manifest("ServiceBinding", name, reference)],
    [claimFile(demo, "backup"), manifest("Backup", name, reference)],
    [claimFile(demo, "restore"), manifest("Restore", name, { backupRef: name, ...reference })],
  ];
}

function manifest(kind: string, name: string, spec: Readonly<Record<string, string>>): string {
  const fields = Object.entries(spec).map(([field, value]) => `  ${field}: ${value}\n`);
  return `apiVersion: anynines.com/v1
kind: ${kind}
metadata:
  name: ${name}
  namespace: ${demoNamespace}
spec:
${fields.join("")}`;
}
