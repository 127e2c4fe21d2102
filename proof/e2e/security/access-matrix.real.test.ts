/** Every right of every account, before, while and after an API is bound, held against a file that people review. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import {
  apiServiceExportRequests,
  type APIServiceNamespace,
  apiServiceNamespaces,
  backendClaimsRoleName,
  binderName,
  consumerNamespace,
} from "@klutch/api";
import { type KubeObject, namespaces } from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import {
  installRights,
  isAllowed,
  namespaceObject,
  roleBindingObject,
  seededRandom,
  type TestCluster,
  waitFor,
  leaseCluster,
} from "@klutch/kube-testing";
import {
  bindDatabases,
  type BoundFixture,
  databaseObject,
  databases,
  databasesName,
  exportRequest,
  startBoundFixture,
  tenants,
} from "./bound-fixture.ts";
import { type Cell, difference, layOut, matrixLines, without } from "./matrix-text.ts";
import { packageAccounts, packageRights } from "./provider-rights.ts";
import { discover, rightsOf, rulesAllow, type Served } from "./rights.ts";

const file = join(import.meta.dirname, "access-matrix.txt");
const rewrite = "KLUTCH_REWRITE_ACCESS_MATRIX=1 npm test -- proof/e2e/security/access-matrix";
const samplesPerPlace = 4;
const names = ["", "klutch-bind-konnector", "something"];
const verbs = "get list watch create update patch delete deletecollection bind escalate impersonate".split(
  " ",
);
const random = seededRandom(20_260);

type Phase = "before bind" | "bound" | "unbound";
type Places = readonly (readonly [place: string, namespace: string | undefined])[];
interface Account {
  readonly name: string;
  readonly user: string;
  readonly places: Places;
  /** Account whose rights this one has, too; they are not listed again. Default: any account. */
  readonly beyond?: Account;
}

const userOf = (namespace: string, name: string): string => `system:serviceaccount:${namespace}:${name}`;
const anyone: Account = {
  name: "any account",
  user: userOf("default", "nobody"),
  places: [["cluster-wide", undefined]],
};
const serviceNamespace = (tenant: string): string => `${tenant}-team`;
const otherPlaces: Places = [
  ["klutch-backend", "klutch-backend"],
  ["kube-system", "kube-system"],
  ["default", "default"],
];
const konnector: Account = {
  name: "konnector",
  user: userOf(consumerNamespace, "konnector"),
  places: [
    ["cluster-wide", undefined],
    ["klutch-bind", consumerNamespace],
    ["a developer's namespace", "team"],
    ["kube-system", "kube-system"],
  ],
};
const backend: Account = {
  name: "backend",
  user: userOf("klutch-backend", "with-a-login"),
  places: [
    ["cluster-wide", undefined],
    ["a cluster namespace", tenants.a],
    ["a service namespace", serviceNamespace(tenants.a)],
    ...otherPlaces,
  ],
};
/** It runs in the fixture. */
const inControlPlaneMode: Account = {
  name: "backend in control-plane mode",
  user: userOf("klutch-backend", "klutch-backend"),
  places: [["cluster-wide", undefined]],
  beyond: backend,
};
const tenant = (name: string, own: string, foreign: string): Account => ({
  name,
  user: userOf(own, binderName),
  places: [
    ["cluster-wide", undefined],
    ["own cluster namespace", own],
    ["own service namespace", serviceNamespace(own)],
    ["foreign cluster namespace", foreign],
    ["foreign service namespace", serviceNamespace(foreign)],
    ...otherPlaces,
  ],
});
const ofPackage = (
  name: string,
  account: { readonly namespace: string; readonly name: string },
): Account => ({
  name,
  user: userOf(account.namespace, account.name),
  places: [
    ["cluster-wide", undefined],
    ["a service namespace", serviceNamespace(tenants.a)],
    ["crossplane-system", account.namespace],
  ],
});
const inControlPlane = [
  anyone,
  backend,
  inControlPlaneMode,
  tenant("tenant A", tenants.a, tenants.b),
  tenant("tenant B", tenants.b, tenants.a),
  ofPackage("provider-anynines", packageAccounts.provider),
  ofPackage("function-klutch", packageAccounts.function),
];

const cells: Cell[] = [];
const samples = { asked: 0, allowed: 0 };

for (const scope of ["Namespaced", "Cluster"] as const) {
  test(`with consumer scope ${scope} the rules of each account say what the authorizer answers`, async () => {
    await using fixture = await startBoundFixture(leaseCluster, { scope });
    await fixture.controlPlane.client.create(namespaces, namespaceObject("crossplane-system"));
    await installRights(fixture.controlPlane.client, [...packageRights(), ...rightsWithoutMode()]);
    const readRights = async (phase: Phase): Promise<void> => {
      await lookAt(fixture.appCluster, "app cluster", [anyone, konnector], scope, phase);
      await lookAt(fixture.controlPlane, "control plane", inControlPlane, scope, phase);
    };
    await readRights("before bind");
    await bind(fixture);
    await readRights("bound");
    await unbind(fixture);
    await readRights("unbound");
  });
}

/** The shipped rights of a backend that serves no AppClusterBindings. */
function rightsWithoutMode(): readonly KubeObject[] {
  const account = { namespace: "klutch-backend", name: "with-a-login" };
  return ["klutch-backend", backendClaimsRoleName].map((name) =>
    roleBindingObject({ name: `${name}-${account.name}` }, { kind: "ClusterRole", name }, account),
  );
}

test("each account has exactly the rights in the reviewed file", async () => {
  assert.ok(samples.asked >= 600 && samples.allowed >= 80, JSON.stringify(samples));
  const lines = matrixLines(cells);
  if (process.env["KLUTCH_REWRITE_ACCESS_MATRIX"] === "1") {
    await writeFile(file, `${[...header, ...lines].join("\n")}\n`);
  }
  const reviewed = (await readFile(file, "utf8").catch(() => "")).split("\n");
  const changed = difference(
    reviewed.filter((line) => line !== "" && !line.startsWith("#")),
    lines,
  );
  const hint = `Rights differ from ${file}. If this is meant, rewrite it and review each line: ${rewrite}`;
  assert.equal(changed.length, 0, `${hint}\n${changed.join("\n")}`);
});

const header = [
  "# Who may do what. Written by:",
  `#   ${rewrite}`,
  "# cluster: account | place | resource | verbs | when. A place lists what holds there beyond `cluster-wide`, and `cluster-wide` what",
  "# is beyond `any account`. Unbound: tenant A unbinds and keeps its objects; tenant B takes back its namespace and its request.",
];

/** Records the rights of the accounts, and asks the authorizer about some of them. */
async function lookAt(
  cluster: TestCluster,
  name: string,
  accounts: readonly Account[],
  scope: string,
  phase: Phase,
): Promise<void> {
  const served = await discover(cluster.client);
  const common = layOut(await rightsOf(cluster.config, anyone.user), served);
  for (const account of accounts) {
    const { beyond } = account;
    let wide: Cell["verbs"] = account === anyone ? new Map() : common;
    if (beyond !== undefined) wide = layOut(await rightsOf(cluster.config, beyond.user), served);
    for (const [place, namespace] of account.places) {
      const rights = await rightsOf(cluster.config, account.user, namespace);
      const verbs = layOut(rights, served);
      cells.push({ scope, phase, account: `${name}: ${account.name}`, place, verbs: without(verbs, wide) });
      if (namespace === undefined) wide = verbs;
      await sample(cluster.client, account, namespace, rights.rules, served);
    }
  }
}

/** Rules and authorizer must agree: about cells at random, and about as many that name what the account has something of. */
async function sample(
  client: KubeClient,
  { user, name }: Account,
  namespace: string | undefined,
  rules: Parameters<typeof rulesAllow>[0],
  served: readonly Served[],
): Promise<void> {
  const touched = served.filter(({ group, resource }) =>
    rules.some((rule) => rule.groups.includes(group) && rule.resources.includes(resource)),
  );
  for (let index = 0; index < samplesPerPlace; index++) {
    const resource = pick(index % 2 === 0 && touched.length > 0 ? touched : served);
    const verb = pick(verbs);
    const objectName = pick(names);
    const question = { verb, group: resource.group, resource: resource.resource, name: objectName };
    const expected = rulesAllow(rules, question);
    const answer = await isAllowed(client, user, question, namespace);
    assert.equal(answer, expected, `${name} in ${namespace ?? "the cluster"}: ${JSON.stringify(question)}`);
    samples.asked++;
    if (answer) samples.allowed++;
  }
}

function pick<T extends string | Served>(list: readonly T[]): T {
  const one = list[Math.floor(random() * list.length)];
  if (one === undefined) throw new Error("there is nothing to pick from");
  return one;
}

/** Tenant A binds with the plugin and uses the API; tenant B asks with its credential for the same. */
async function bind(fixture: BoundFixture): Promise<void> {
  const { appCluster, controlPlane } = fixture;
  await fixture.startKonnector();
  await bindDatabases(fixture);
  await appCluster.client.create(namespaces, namespaceObject("team"));
  const object = databaseObject("team", "first");
  await waitFor("the API to be served", () => appCluster.client.create(databases, object));
  const other = await fixture.clientOf(tenants.b);
  await other.create(apiServiceExportRequests, exportRequest(tenants.b));
  await other.create<APIServiceNamespace>(apiServiceNamespaces, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceNamespace",
    metadata: { namespace: tenants.b, name: "team" },
    spec: {},
  });
  for (const own of Object.values(tenants)) {
    const user = userOf(own, binderName);
    await waitFor(`the rights of ${own}`, () => mayUse(controlPlane.client, user, serviceNamespace(own)));
  }
  const upstream = { namespace: serviceNamespace(tenants.a), name: "first" };
  await waitFor("the upstream object", () => controlPlane.client.find(databases, upstream));
}

/** Tenant A keeps its objects; tenant B has none and takes back its requests. */
async function unbind({ controlPlane, ...fixture }: BoundFixture): Promise<void> {
  await fixture.kubectlBind("unbind", databasesName);
  const other = await fixture.clientOf(tenants.b);
  await other.delete(apiServiceNamespaces, { namespace: tenants.b, name: "team" });
  await other.delete(apiServiceExportRequests, { namespace: tenants.b, name: databasesName });
  const user = userOf(tenants.b, binderName);
  await waitFor("tenant B to lose its service namespace", async () => {
    const gone = await controlPlane.client.find(namespaces, { name: serviceNamespace(tenants.b) });
    return gone === undefined && !(await mayUse(controlPlane.client, user, serviceNamespace(tenants.b)));
  });
}

async function mayUse(client: KubeClient, user: string, namespace: string): Promise<boolean> {
  const question = (group: string, resource: string): Promise<boolean> =>
    isAllowed(client, user, { verb: "create", group, resource }, namespace);
  return (await question("example.org", "databases")) && (await question("", "secrets"));
}
