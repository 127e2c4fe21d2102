/** Installing manifests where the Deployments' parts are played by processes. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type ClusterConfig,
  createKubeClient,
  decodeObject,
  formatKubeconfig,
  type KubeClient,
  parseYamlDocuments,
  resourceTypeOf,
} from "@klutch/kube";
import {
  clusterRoleBindings,
  clusterRoles,
  conditionsOf,
  customResourceDefinitions,
  type DynamicObject,
  isTrue,
  type KubeObject,
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
  namespaces,
  type PolicyRule,
  refOfObject,
  roleBindings,
  roles,
  serviceAccounts,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from "@klutch/kube-core";
import { accountConfig } from "./access.ts";
import { peopleBindingObject, roleObject, type Subject } from "./objects.ts";
import { waitFor } from "./wait-for.ts";

const installable = [namespaces, serviceAccounts, clusterRoles, clusterRoleBindings, roles, roleBindings];
const policies = [
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
];
const manager = { fieldManager: "installer", force: true } as const;

/** Applies namespaces, accounts and objects that decide about rights; everything else is left out. */
export async function installRights(client: KubeClient, manifests: readonly KubeObject[]): Promise<void> {
  for (const manifest of manifests) {
    const type = installable.find(({ kind }) => kind === manifest.kind);
    if (type !== undefined) await client.apply(type, manifest, manager);
  }
}

/** Creates a ClusterRole with the rule, and its binding of the same name to people and groups. */
export async function allowPeople(
  client: KubeClient,
  name: string,
  rule: PolicyRule,
  people: readonly Subject[],
): Promise<void> {
  await client.create(clusterRoles, roleObject({ name }, [rule]));
  await client.create(clusterRoleBindings, peopleBindingObject(name, name, people));
}

/** Applies admission policies and their bindings. The server obeys them only a moment later. */
export async function applyPolicies(client: KubeClient, manifests: readonly KubeObject[]): Promise<void> {
  for (const manifest of manifests) {
    const type = policies.find(({ kind }) => kind === manifest.kind);
    if (type === undefined) throw new Error(`${manifest.kind} is no admission policy`);
    await client.apply(type, manifest, manager);
  }
}

/** Reads the YAML files of a folder. `edit`: changes the text of each before it is parsed. */
export async function manifestsIn(
  folder: string,
  edit: (text: string) => string = (text) => text,
): Promise<readonly DynamicObject[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".yaml"));
  const read = async (file: string): Promise<readonly DynamicObject[]> =>
    parseYamlDocuments(edit(await readFile(join(folder, file), "utf8"))).map((document) =>
      decodeObject<DynamicObject>(document, file),
    );
  return (await Promise.all(files.map(read))).flat();
}

/** Applies CustomResourceDefinitions, and waits until they are served; everything else is left out. */
export async function installKinds(client: KubeClient, manifests: readonly KubeObject[]): Promise<void> {
  const kinds = manifests.filter(({ kind }) => kind === customResourceDefinitions.kind);
  for (const kind of kinds) await client.apply(customResourceDefinitions, kind, manager);
  for (const { metadata } of kinds) await untilServed(client, metadata.name ?? "");
}

/** Waits until the API server serves the kind of a CustomResourceDefinition. */
export async function untilServed(client: KubeClient, name: string): Promise<void> {
  const isServed = async (): Promise<boolean> => {
    const crd = await client.get<DynamicObject>(customResourceDefinitions, { name });
    if (!isTrue(conditionsOf(crd), "Established")) return false;
    const type = resourceTypeOf(crd);
    // The condition comes a moment before the first answer.
    if (type !== undefined) await client.list(type, { limit: 1 });
    return true;
  };
  await waitFor(`${name} to be served`, isServed);
}

/** Installs rights and kinds as an administrator, and returns a kubeconfig of the one account among them, valid for a day. */
export async function installedAccount(
  config: ClusterConfig,
  manifests: readonly KubeObject[],
): Promise<string> {
  await using client = createKubeClient(config);
  await installRights(client, manifests);
  await installKinds(client, manifests);
  const account = manifests.find(({ kind }) => kind === serviceAccounts.kind);
  if (account === undefined) throw new Error("there is no ServiceAccount among the manifests");
  return formatKubeconfig(await accountConfig({ client, config }, refOfObject(account)));
}
