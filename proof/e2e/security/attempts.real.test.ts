/** Verdicts on what each account of the control plane might try, held against a file that people review. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { bindCrds, konnectorManifests, providerCrds } from "@klutch/api";
import { decodeObject, isForbidden, parseYamlDocuments } from "@klutch/kube";
import {
  clusterRoles,
  configMaps,
  customResourceDefinitions,
  type DynamicObject,
  isRecord,
  type KubeObject,
  namespaces,
  recordAt,
  recordsAt,
  type ResourceType,
  type Role,
  roleBindings,
  secrets,
} from "@klutch/kube-core";
import {
  applyPolicies,
  crdObject,
  installKinds,
  installRights,
  isAllowed,
  leaseCluster,
  objectOfType,
  roleBindingObject,
  roleObject,
  secretObject,
  serviceAccountObject,
  unlimitedClient,
  waitFor,
} from "@klutch/kube-testing";
import { difference } from "./matrix-text.ts";
import { packageAccounts, packageRights } from "./provider-rights.ts";
import { sendRaw } from "./raw-request.ts";

const file = join(import.meta.dirname, "attempts.txt");
const rewrite = "KLUTCH_REWRITE_ATTEMPTS=1 npm test -- proof/e2e/security/attempts";
const deploy = join(import.meta.dirname, "../../../deploy");
const header = [
  "# What accounts of the control plane may do and are refused, with the shipped roles and policies in force. Written by:",
  `#   ${rewrite}`,
  "# account | attempt | with its own rights | with every right of RBAC, so that only admission stands against it",
];

type Body = Readonly<Record<string, unknown>>;
interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** Kinds of attempts: group, version and plural. */
const plurals: Readonly<Record<string, string>> = {
  Namespace: "api/v1 namespaces",
  Pod: "api/v1 pods",
  Secret: "api/v1 secrets",
  ConfigMap: "api/v1 configmaps",
  Event: "api/v1 events",
  ServiceAccount: "api/v1 serviceaccounts",
  Lease: "apis/coordination.k8s.io/v1 leases",
  Deployment: "apis/apps/v1 deployments",
  Role: "apis/rbac.authorization.k8s.io/v1 roles",
  RoleBinding: "apis/rbac.authorization.k8s.io/v1 rolebindings",
  ClusterRole: "apis/rbac.authorization.k8s.io/v1 clusterroles",
  ValidatingAdmissionPolicy: "apis/admissionregistration.k8s.io/v1 validatingadmissionpolicies",
  APIServiceExport: "apis/klutch.anynines.com/v1alpha1 apiserviceexports",
  APIServiceNamespace: "apis/klutch.anynines.com/v1alpha1 apiservicenamespaces",
  Database: "apis/example.org/v1 databases",
  Gadget: "apis/example.com/v1 gadgets",
  Global: "apis/example.org/v1 globals",
  Provider: "apis/pkg.crossplane.io/v1 providers",
  Object: "apis/kubernetes.crossplane.io/v1 objects",
  Composition: "apis/apiextensions.crossplane.io/v1 compositions",
  Application: "apis/argoproj.io/v1 applications",
  ClusterPolicy: "apis/kyverno.io/v1 clusterpolicies",
};
const wide = ["Global", "Provider", "Object", "Composition", "ClusterPolicy"];
const databases = typeOf("Database", true);
/** Kinds that the test installs, as little as is needed. */
const installed: readonly ResourceType[] = [
  databases,
  ...["Gadget", "Application"].map((kind) => typeOf(kind, true)),
  ...wide.map((kind) => typeOf(kind, false)),
];

function typeOf(kind: string, namespaced: boolean): ResourceType {
  const [, group = "", version = "", plural = ""] = (plurals[kind] ?? "").split(/[ /]/);
  return { group, version, plural, kind, namespaced };
}

const allVerbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
const tokens = "authentication.k8s.io/v1";

/** The request of a row. */
function requestOf(row: Body): Request {
  const { create, get, patch, delete: removed, post, grant, konnector, ...body } = row;
  if (typeof post === "string") return { method: "POST", path: post };
  if (typeof grant === "string") return creation("ClusterRole", roleOf(grant, row));
  if (isRecord(konnector)) return creation("Deployment klutch-bind-default-app", konnectorOf(konnector, row));
  if (typeof create === "string") return creation(create, body);
  const path = pathOf(String(get ?? patch ?? removed));
  if (get !== undefined) return { method: "GET", path };
  return patch === undefined ? { method: "DELETE", path } : { method: "PATCH", path, body };
}

function creation(words: string, fields: Body): Request {
  const [kind = "", namespace, name] = words.split(" ");
  const isToken = kind === "TokenRequest";
  const path = isToken
    ? `${pathOf(`ServiceAccount ${namespace} ${name}`)}/token`
    : pathOf([kind, namespace].filter((word) => word !== undefined).join(" "));
  const apiVersion = isToken ? tokens : (plurals[kind] ?? "").replace(/^apis?\//, "").replace(/ .*/, "");
  const metadata = { name: isToken ? name : "attempt", ...recordAt(fields, "metadata") };
  return { method: "POST", path, body: { apiVersion, kind, ...fields, metadata } };
}

function pathOf(words: string): string {
  const [kind = "", namespace = "-", name] = words.split(" ");
  const [root = "", plural = ""] = (plurals[kind] ?? "").split(" ");
  const inside = namespace === "-" ? [] : ["namespaces", namespace];
  return `/${[root, ...inside, plural, name].filter((part) => part !== undefined).join("/")}`;
}

function roleOf(grant: string, { wide: isWide, metadata }: Body): Body {
  const [group = "", ...resource] = grant.split("/");
  const name = isWide === true ? "klutch-binder-x:cluster-wide" : "klutch-binder-x";
  const rule = { apiGroups: [group], resources: [resource.join("/")], verbs: allVerbs };
  return { metadata: { name, ...recordAt(metadata) }, rules: [rule] };
}

/** The Deployment of control-plane mode, with changes of its Pod, container and template. */
function konnectorOf(pod: Body, { container, template, spec: more }: Body): Body {
  const image = "registry.klutch.example/klutch/konnector:v9";
  const base = konnectorManifests({ image }).find(({ kind }) => kind === "Deployment");
  const spec = recordAt(base, "spec");
  const generated = recordAt(spec, "template", "spec");
  const [own] = recordsAt(generated, "containers");
  const containers = [{ ...own, ...recordAt(container) }];
  const metadata = { labels: { app: "konnector" }, ...recordAt(template) };
  const whole = { ...generated, serviceAccountName: "klutch-binder", containers, ...pod };
  return {
    metadata: { name: "konnector-x" },
    spec: { ...spec, ...recordAt(more), template: { metadata, spec: whole } },
  };
}

const inMode = "backend in control-plane mode";
const accounts: Readonly<Record<string, readonly [namespace: string, name: string]>> = {
  backend: ["klutch-backend", "klutch-backend"],
  [inMode]: ["klutch-backend", "klutch-backend"],
  "klutch-binder": ["cluster1", "klutch-binder"],
  "provider-anynines": [packageAccounts.provider.namespace, packageAccounts.provider.name],
  "function-klutch": [packageAccounts.function.namespace, packageAccounts.function.name],
};

const cluster = await leaseCluster({ name: "attempts", controllerManager: true });
after(() => cluster[Symbol.asyncDispose]());
const { client } = cluster;

test("each account may do, and is refused, exactly what the reviewed file says", async () => {
  await install();
  const lines: string[] = [];
  const [table] = parseYamlDocuments(await readFile(join(import.meta.dirname, "attempts.yaml"), "utf8"));
  for (const [account, user] of Object.entries(accounts)) {
    if (account === inMode) await giveRightsOfMode();
    for (const [what, row] of Object.entries(recordAt(table, account))) {
      const request = requestOf(recordAt(row));
      const own = await verdict(user, request, "system:authenticated");
      lines.push([account, what, own, await verdict(user, request, "system:masters")].join(" | "));
    }
  }
  assert.ok(lines.length > 120, String(lines.length));
  const written = process.env["KLUTCH_REWRITE_ATTEMPTS"] === "1";
  if (written) await writeFile(file, `${[...header, ...lines].join("\n")}\n`);
  const reviewed = (await readFile(file, "utf8").catch(() => "")).split("\n");
  const changed = difference(
    reviewed.filter((line) => line !== "" && !line.startsWith("#")),
    lines,
  );
  const hint = `Verdicts differ from ${file}. If this is meant, rewrite it and review each line: ${rewrite}`;
  assert.equal(changed.length, 0, `${hint}\n${changed.join("\n")}`);
});

/** Tries without storing anything. Who is in `system:masters` has every right, so that a refusal is one of admission. */
async function verdict(
  [namespace, name]: readonly [string, string],
  { method, path, body }: Request,
  group: string,
): Promise<string> {
  const { status, text } = await sendRaw(cluster.config, {
    method,
    path: body === undefined && method === "POST" ? path : `${path}?dryRun=All`,
    body,
    headers: {
      "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
      "impersonate-user": `system:serviceaccount:${namespace}:${name}`,
      "impersonate-group": group,
    },
  });
  if (status < 300) return "taken";
  const answer: unknown = JSON.parse(text);
  const message = isRecord(answer) && typeof answer["message"] === "string" ? answer["message"] : "";
  if (status !== 403) return `passes admission, then ${status}`;
  const [, policy, words = ""] =
    /ValidatingAdmissionPolicy '([^']+)' .* denied request: (.*)$/s.exec(message) ?? [];
  if (policy === undefined) return /is forbidden: User/.test(message) ? "no right" : `refused: ${message}`;
  // Two policies of the backend refuse many roles, and it is left to chance which one speaks.
  if (path.includes("/clusterroles")) return "refused by policies of the backend";
  return `${policy}: ${words.replace(/: (CREATE|UPDATE|DELETE|CONNECT) .*$/s, "")}`;
}

const identity = { "example-backend.klutch.anynines.com/identity": "someone#1" };
const restricted = { "pod-security.kubernetes.io/enforce": "restricted" };
/** Namespaces with their annotations. */
const places: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  cluster1: identity,
  "cluster1-team": { "klutch.anynines.com/api-service-namespace": "cluster1/team" },
  cluster2: identity,
  "cluster2-team": { "klutch.anynines.com/api-service-namespace": "cluster2/team" },
  "klutch-bind-default-app": { "klutch.anynines.com/appclusterbinding": "default/app" },
  vault: {},
  "crossplane-system": {},
};

async function manifestsOf(name: string): Promise<readonly KubeObject[]> {
  const documents = parseYamlDocuments(await readFile(join(deploy, name), "utf8"));
  return documents.map((document) => decodeObject<KubeObject>(document, name));
}

async function giveRightsOfMode(): Promise<void> {
  await installRights(client, await manifestsOf("control-plane-mode.yaml"));
  const question = { verb: "get", group: "", resource: "secrets" };
  await waitFor("the rights of the mode", () =>
    isAllowed(client, "system:serviceaccount:klutch-backend:klutch-backend", question),
  );
}

/** Installs the shipped manifests, an API that an operator offers, two tenants, and what others have in the cluster. */
async function install(): Promise<void> {
  const manifests = await manifestsOf("backend-rbac.yaml");
  await installKinds(client, [...bindCrds, ...providerCrds]);
  const spec = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  for (const type of installed)
    await client.create<KubeObject>(
      customResourceDefinitions,
      crdObject(type, { properties: { spec }, hasStatus: type === databases }),
    );
  for (const [name, annotations] of Object.entries(places)) {
    const labels = name.startsWith("cluster") ? { ...restricted, team: "a" } : {};
    await client.create(namespaces, objectOfType(namespaces, { name, annotations, labels }));
  }
  await installRights(client, [...manifests, ...rightsOfTenants(), ...packageRights()]);
  await makeObjects();
  await waitFor("the list of offers", async () => {
    const { rules } = await client.get<Role>(clusterRoles, { name: "klutch-backend-claims" });
    return (rules ?? []).some(
      ({ apiGroups = [], verbs }) => apiGroups.includes("example.org") && verbs.includes("offer"),
    );
  });
  await applyPolicies(
    client,
    manifests.filter(({ kind }) => kind.startsWith("Validating")),
  );
  for (const account of ["backend", "klutch-binder", "provider-anynines"]) {
    const [namespace = "", name = ""] = accounts[account] ?? [];
    await using limited = unlimitedClient(cluster, { namespace, name });
    await waitFor(`the policy of ${account}`, () =>
      limited
        .create(secrets, secretObject("vault", "probe", {}), { dryRun: true })
        .then(() => false, isForbidden),
    );
  }
}

const [binderNamespace = "", binderName = ""] = accounts["klutch-binder"] ?? [];
const binder = { namespace: binderNamespace, name: binderName };

/** A tenant with a bound API. */
function rightsOfTenants(): readonly KubeObject[] {
  const offer = roleObject({ name: "klutch-backend-claims-databases" }, [
    { apiGroups: [databases.group], resources: [databases.plural, "globals"], verbs: ["offer"] },
  ]);
  const labels = { "klutch.anynines.com/aggregate-to-backend": "true" };
  const bound = [
    { apiGroups: [databases.group], resources: [databases.plural], verbs: allVerbs },
    { apiGroups: [""], resources: ["secrets"], verbs: allVerbs },
  ];
  return [
    { ...offer, metadata: { ...offer.metadata, labels } },
    serviceAccountObject(binder),
    roleObject({ name: "klutch-binder-cluster1" }, bound),
  ];
}

async function makeObjects(): Promise<void> {
  const bindings = { cluster1: binderName, "cluster1-team": "klutch-binder-cluster1" };
  for (const [namespace, name] of Object.entries(bindings))
    await client.create(
      roleBindings,
      roleBindingObject({ namespace, name: binderName }, { kind: "ClusterRole", name }, binder),
    );
  const annotations = { "crossplane.io/paused": "true" };
  const finalizers = ["finalizer.apiextensions.crossplane.io"];
  const place = { namespace: "cluster1-team", name: "paused" };
  const spec = { resourceRef: { name: "its-composite" } };
  const paused = objectOfType(databases, { ...place, annotations, finalizers }, { spec });
  await waitFor("the API to be served", () => client.create<DynamicObject>(databases, paused));
  // Of a version that is not served: the garbage collector leaves it alone.
  const owner = { apiVersion: "dataservices.anynines.com/v9", kind: "ServiceBinding", name: "b", uid: "1" };
  const metadata = {
    namespace: "cluster1-team",
    name: "own",
    ownerReferences: [{ ...owner, controller: true }],
  };
  const connection = { type: "connection.crossplane.io/v1alpha1" };
  await client.create(secrets, objectOfType(secrets, metadata, connection));
  const owned = { "klutch.anynines.com/cluster-namespace": "cluster2" };
  const globals = typeOf("Global", false);
  await waitFor("the cluster-scoped API to be served", () =>
    client.create<DynamicObject>(
      globals,
      objectOfType(globals, { name: "cluster2-one", annotations: owned }),
    ),
  );
  // As aggregated API servers read it.
  const authorities = { namespace: "kube-system", name: "extension-apiserver-authentication" };
  await client.apply(configMaps, objectOfType(configMaps, authorities), { fieldManager: "test" });
  await client.create(secrets, secretObject("vault", "foreign", { a: "b" }));
}
