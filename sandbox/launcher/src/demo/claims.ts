/** The claims of the demo: the examples of the services that the sandbox offers, in a namespace of their own. */
import { decodeObject, formatYaml } from "@klutch/kube";
import type { DynamicObject, ResourceType } from "@klutch/kube-core";
import { claimResource, exampleFilesOf, legacy } from "@klutch/services";

/** Namespace in each app cluster. */
export const demoNamespace = "demo";

/** Data services that the sandbox's broker may offer. */
export const demoTypes = ["postgresql", "mariadb", "keyvalue"] as const;

/** One of them. */
export type DemoType = (typeof demoTypes)[number];

const operations = ["instance", "binding", "backup", "restore"] as const;

/** A claim, and its file in the sandbox's folder. */
export interface DemoClaim {
  readonly file: string;
  readonly manifest: DynamicObject;
  readonly resource: ResourceType;
  readonly ref: { readonly namespace: string; readonly name: string };
}

/** Returns the claim of an operation on the demo's instance of a service. */
export function demoClaim(type: DemoType, operation: (typeof operations)[number]): DemoClaim {
  const name = `${type}-${operation}`;
  const example = exampleFilesOf(legacy).find((each) => each.name === name);
  const manifest = decodeObject<DynamicObject>(example?.manifest, `the example ${name}`);
  const ref = { namespace: demoNamespace, name: manifest.metadata.name ?? "" };
  const resource = claimResource(manifest.kind);
  return { file: `${name}.yaml`, manifest: { ...manifest, metadata: ref }, resource, ref };
}

/** File that makes the namespace. */
export const namespaceFile = "namespace.yaml";

const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: demoNamespace } };
const claims = demoTypes.flatMap((type) => operations.map((operation) => demoClaim(type, operation)));

/** Text of each file for `kubectl apply`. */
export const demoFiles: Readonly<Record<string, string>> = Object.fromEntries([
  [namespaceFile, formatYaml(namespace)],
  ...claims.map(({ file, manifest }) => [file, formatYaml(manifest)] as const),
]);
