/**
 * Commands of the pages that need no more than an API server with Klutch's kinds, typed word for word with real kubectl: of add-a-provider.md, console.md, gitops.md,
 * install.md, offer-an-api.md, operating.md, remove.md and rotate-credentials.md. Names in angle brackets are those that the person has.
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, test } from "node:test";
import { bindCrds, providerCrds } from "@klutch/api";
import { inheritedEnvironment, ownProgram, resolveEngine, run } from "@klutch/engines";
import { parseYamlDocuments } from "@klutch/kube";
import { isRecord, type KubeObject } from "@klutch/kube-core";
import { installKinds, leaseCluster } from "@klutch/kube-testing";
import { repositoryRoot } from "../root.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const folder = await mkdtemp(join(tmpdir(), "klutch-typed-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const cluster = stack.use(await leaseCluster({ controllerManager: true }));

const bin = join(folder, "bin");
await mkdir(join(bin, "own"), { recursive: true });
await symlink(await resolveEngine("kubectl"), join(bin, "kubectl"));
// The program goes by the name that it is started as.
await symlink(ownProgram("cli"), join(bin, "own", "klutch"));
await writeFile(join(bin, "klutch"), `#!/bin/sh\nexec "${process.execPath}" "${bin}/own/klutch" "$@"\n`, {
  mode: 0o755,
});
for (const name of ["deploy", "configuration"]) await symlink(join(repositoryRoot, name), join(folder, name));
await writeFile(join(folder, "kubeconfig"), cluster.kubeconfig, { mode: 0o600 });
const env = {
  HOME: folder,
  KUBECONFIG: join(folder, "kubeconfig"),
  PATH: [bin, inheritedEnvironment["PATH"] ?? ""].join(delimiter),
};

/** Types lines in a shell that stops at the first failure, and returns what they print. */
async function types(text: string): Promise<string> {
  const { stdout, stderr } = await run("/bin/bash", ["-e", "-o", "pipefail", "-c", text], {
    cwd: folder,
    env,
  });
  return stdout + stderr;
}

const names: Readonly<Record<string, string>> = {
  "<cluster namespace>": "cluster-x",
  "<name>": "postgresql-service-broker",
  "<plural.group>": "widgets.example.org",
  "<name of the first column>": "cluster-x-shop",
  "<GUID of the organisation>": "d2e5c1f0-5b7e-4a0e-9d0c-2b7f3f2c1a11",
  "<GUID of the space>": "0c6a7d2e-6f0b-4b64-8d1b-5d2f1c9b7a22",
};

/** Blocks under a heading of a page, fenced or indented, with the person's own names. */
async function blocksUnder(page: string, heading: string): Promise<readonly string[]> {
  const text = await readFile(join(repositoryRoot, "docs", page), "utf8");
  const [, part] = text.split(new RegExp(`^#+ ${heading.replaceAll(/[.?]/g, "\\$&")}$`, "m"));
  assert.ok(part !== undefined, `${page} has no heading ${heading}`);
  const [own = ""] = part.split(/^#+ .*$/m);
  const found = [...`\n${own}`.matchAll(/^```\w+\n([^]*?)^```$|(?<=\n\n)((?: {4}.*\n)+)/gm)];
  return found.map(([, fenced, indented = ""]) => {
    const block = fenced ?? indented.replaceAll(/^ {4}/gm, "");
    return Object.entries(names).reduce((typed, [name, own]) => typed.replaceAll(name, own), block);
  });
}

/** Types each command of a heading; blocks that only show output are left out. */
async function typesUnder(page: string, heading: string): Promise<string> {
  const commands = (await blocksUnder(page, heading)).filter((block) => /^(?:kubectl|klutch) /.test(block));
  assert.ok(commands.length > 0, `${page} has no commands under ${heading}`);
  let printed = "";
  for (const block of commands) printed += await types(block);
  return printed;
}

const manifests = (text: string): readonly KubeObject[] =>
  parseYamlDocuments(text).filter((object): object is KubeObject => isRecord(object) && "kind" in object);

function crd(group: string, kind: string, more = ""): string {
  const plural = `${kind.toLowerCase()}s`;
  return `
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: ${plural}.${group} }
spec:
  group: ${group}
  scope: Namespaced
  names: { kind: ${kind}, plural: ${plural}${more} }
  versions:
    - { name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } } }
`;
}

const crossplaneCrds = join(dirname(await resolveEngine("crossplane")), "cluster", "crds");
const environmentConfig = "apiextensions.crossplane.io_environmentconfigs.yaml";
await installKinds(cluster.client, [
  ...bindCrds,
  ...manifests(await readFile(join(crossplaneCrds, environmentConfig), "utf8")),
  ...providerCrds,
  ...manifests(crd("anynines.com", "ServiceBinding", ", categories: [claim]") + crd("example.org", "Widget")),
]);
const binding = (name: string): string => `
---
apiVersion: klutch.anynines.com/v1alpha1
kind: APIServiceBinding
metadata: { name: ${name}, namespace: klutch-bind, finalizers: [] }
spec: { kubeconfigSecretRef: { namespace: klutch-bind, name: kubeconfig-x, key: kubeconfig } }
`;
const namespaces = ["klutch-bind", "crossplane-system", "argocd", "demo", "cluster-x"];
await writeFile(
  join(folder, "world.yaml"),
  `${namespaces.map((name) => `---\napiVersion: v1\nkind: Namespace\nmetadata: { name: ${name} }\n`).join("")}
---
apiVersion: v1
kind: Namespace
metadata: { name: cluster-x-shop, annotations: { klutch.anynines.com/api-service-namespace: cluster-x/shop } }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: klutch-binder, namespace: cluster-x }
---
apiVersion: klutch.anynines.com/v1alpha1
kind: ClusterBinding
metadata: { name: cluster, namespace: cluster-x }
spec: { kubeconfigSecretRef: { name: kubeconfig, key: kubeconfig }, providerPrettyName: Example }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: konnector, namespace: klutch-bind }
spec:
  selector: { matchLabels: { app: konnector } }
  template:
    metadata: { labels: { app: konnector } }
    spec: { containers: [{ name: konnector, image: example.test/konnector:v1 }] }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: argocd-cm, namespace: argocd }
data: { url: https://argocd.example.org }
---
apiVersion: dataservices.anynines.com/v1
kind: ProviderConfig
metadata: { name: postgresql-service-broker }
spec:
  url: https://broker.example.org
  serviceType: servicebroker
  providerCredentials:
    source: Secret
    username: { secretRef: { namespace: crossplane-system, name: broker, key: username } }
    password: { secretRef: { namespace: crossplane-system, name: broker, key: password } }
---
apiVersion: anynines.com/v1
kind: ServiceBinding
metadata: { name: orders-app, namespace: default }
status: { managed: { rotation: { request: leak-7 } } }
---
apiVersion: anynines.com/v1
kind: ServiceBinding
metadata: { name: orders-app, namespace: cluster-x-shop }
${binding("widgets.example.org")}${binding("gadgets.example.org")}`,
);
await types("kubectl apply -f world.yaml");

test("offer-an-api.md: the template is applied and listed, and the ClusterRole is one, also with the rules for causes", async () => {
  const [template = ""] = await blocksUnder("offer-an-api.md", "Offer an API to app clusters");
  await writeFile(join(folder, "template.yaml"), template);
  assert.match(await typesUnder("offer-an-api.md", "Check it"), /^crossplane-system +widgets /m);
  const [role = ""] = await blocksUnder("offer-an-api.md", "Let the backend hand it out");
  await writeFile(join(folder, "role.yaml"), role);
  assert.match(await types("kubectl apply -f role.yaml"), /klutch-backend-claims-widgets created/);
  const [causes = ""] = await blocksUnder("offer-an-api.md", "Causes on claims of your own");
  await writeFile(join(folder, "role.yaml"), `${role.trimEnd()}\n${causes}`);
  assert.match(await types("kubectl apply -f role.yaml"), /klutch-backend-claims-widgets configured/);
});

test("add-a-provider.md, several-brokers.md, install.md and gitops.md: health is listed, roles are given, Argo CD's checks join its ConfigMap", async () => {
  const broker = await typesUnder("several-brokers.md", "Add a broker");
  assert.match(broker, /postgresql-eu-1 created\n[^]*clusterrole\S+klutch-regions created/);
  const health = await typesUnder("add-a-provider.md", "Add a provider of databases");
  assert.match(health, /^postgresql-service-broker /m);
  await typesUnder("add-a-provider.md", "Brokers without organisation and space");
  const config = "kubectl get providerconfigs.dataservices.anynines.com postgresql-service-broker";
  const context: unknown = JSON.parse(await types(`${config} -o jsonpath='{.spec.context}'`));
  const clusterID = await types("kubectl get namespace kube-system -o jsonpath='{.metadata.uid}'");
  assert.deepEqual(context, { kind: "Namespace", clusterID });
  assert.match(await typesUnder("install.md", "Who may use them"), /rolebinding\S+developers created/);
  await typesUnder("gitops.md", "Argo CD");
  const map = await types("kubectl -n argocd get configmap argocd-cm -o jsonpath='{.data}'");
  const { url, ...added } = JSON.parse(map) as Readonly<Record<string, string>>;
  assert.equal(url, "https://argocd.example.org", "a key that kubectl apply wrote");
  assert.ok(Object.keys(added).includes("resource.customizations.health.anynines.com_PostgresqlInstance"));
});

test("console.md: the platform team may list all that the console shows", async () => {
  assert.match(
    await typesUnder("console.md", "Who sees what"),
    /clusterrolebinding\S+klutch-console created/,
  );
  const canI = "kubectl auth can-i list -A --as=oidc:ann --as-group=oidc:platform-team";
  for (const kind of ["clusterbindings", "tenants", "grants"])
    assert.equal(await types(`${canI} ${kind}.klutch.anynines.com`), "yes\n", kind);
});

test("console.md: the platform team may revoke Grants, as its button does", async () => {
  await typesUnder("console.md", "Actions");
  const canI = "kubectl auth can-i delete -A --as=oidc:ann --as-group=oidc:platform-team";
  assert.equal(await types(`${canI} grants.klutch.anynines.com`), "yes\n");
});

test("rotate-credentials.md: a rotation is asked for, also at once, and its state is read", async () => {
  await typesUnder("rotate-credentials.md", "New credentials while the application works");
  await typesUnder("rotate-credentials.md", "Lifetime of the old credentials");
  assert.match(await typesUnder("rotate-credentials.md", "Status"), /"request":"leak-7"/);
  const spec = await types("kubectl get servicebindings.anynines.com orders-app -o jsonpath='{.spec}'");
  assert.deepEqual(JSON.parse(spec), { rotate: "leak-7", rotateGraceSeconds: 0 });
});

test("operating.md: an organisation, a check of a backend, and a binding whose provider is gone", async () => {
  const organisation = await typesUnder("operating.md", "Organisation and space of a tenant");
  assert.match(organisation, /^cluster-x-shop +cluster-x\/shop$/m);
  assert.match(organisation, /environmentconfig\S+\/acme-orders created/);
  assert.match(await typesUnder("operating.md", "Check the backends"), /providerconfig\S+ patched/);
  assert.match(await typesUnder("operating.md", "Unbinding"), /"widgets\.example\.org" deleted/);
});

test("operating.md: a konnector is handed back, and a tenant is revoked and let in again", async () => {
  const handBack = await typesUnder("operating.md", "Going back to another agent");
  assert.match(
    handBack,
    /deployment\S+konnector scaled[^]*Nothing to do|Done\. Another konnector may take over/,
  );
  const revoked = await typesUnder("operating.md", "Revoke access, and allow it again");
  assert.match(
    revoked,
    /namespace\/cluster-x annotated\n[^]*"klutch-binder" deleted[^]*namespace\/cluster-x annotated/,
  );
});

test("remove.md: a tenant's claims are looked at, and the tenant is deleted", async () => {
  const text = await typesUnder("remove.md", "A tenant in the control plane");
  assert.match(text, /^cluster-x +cluster /m);
  assert.match(text, /^cluster-x-shop +cluster-x\/shop$/m);
  assert.match(text, /^cluster-x-shop +\S*orders-app/m);
  assert.match(text, /namespace "cluster-x" deleted/);
});
