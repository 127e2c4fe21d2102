/**
 * Every way in asks the same question: people, a program and an app cluster × templates × ways, with a real API server, an identity provider and the
 * backend as a process. The answers are the reviewed text ways-in.txt; KLUTCH_REWRITE_ACCESS_MATRIX=1 writes it again.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { after, test } from "node:test";
import {
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExportTemplates,
  appClusters,
  type Grant,
  grants,
  newAnswerKey,
  openSession,
  openSessionOffer,
  templateGroup,
} from "@klutch/api";
import { serviceAccountToken } from "@klutch/kube";
import {
  clusterRoleBindings,
  clusterRoles,
  customResourceDefinitions,
  type KubeObject,
  type ResourceType,
  serviceAccounts,
} from "@klutch/kube-core";
import { crdObject, roleObject, startKubectl, unlimitedClient, waitFor } from "@klutch/kube-testing";
import { TestBrowser } from "../testing/browser.ts";
import { accessTokenOf } from "../testing/programs.ts";
import { databases, templateObject } from "../testing/provider.ts";
import { prepareReplicas } from "../testing/replicas.ts";
import { exportRequest } from "../testing/tenants.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { cluster, issuer, service, start } = await prepareReplicas(stack, "ways");
const { client } = cluster;
const templates = ["databases", "queues", "caches"] as const;
for (const [plural, kind] of [
  ["queues", "Queue"],
  ["caches", "Cache"],
] as const) {
  const type: ResourceType = { ...databases, plural, kind };
  await client.create<KubeObject>(customResourceDefinitions, crdObject(type));
  await client.create(apiServiceExportTemplates, templateObject(type.group, plural));
}
const flags = ["--bind-authorization=rbac", "--oidc-extra-scope=groups", "--ci-clients=tenant-a"];
const [backend, other] = await Promise.all([start("one", ...flags), start("two", ...flags)]);
service.route(backend.url);
const kubectl = await startKubectl(stack, cluster);

/** Lets users and groups bind these templates; none means all. */
async function allow(
  name: string,
  resourceNames: readonly string[],
  subjects: readonly (readonly [kind: "User" | "Group", name: string])[],
): Promise<void> {
  const rule = {
    apiGroups: [templateGroup],
    resources: ["apiserviceexporttemplates"],
    resourceNames,
    verbs: ["bind"],
  };
  await client.create(clusterRoles, roleObject({ name }, [rule]));
  const apiGroup = "rbac.authorization.k8s.io";
  await client.create<KubeObject>(clusterRoleBindings, {
    apiVersion: `${apiGroup}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup, kind: "ClusterRole", name },
    subjects: subjects.map(([kind, subject]) => ({ apiGroup, kind, name: subject })),
  } as KubeObject);
}
await allow(
  "bind-databases",
  ["databases"],
  [
    ["Group", "oidc:team-a"],
    ["User", "oidc:client:tenant-a"],
  ],
);
await allow("bind-queues", ["queues"], [["User", "klutch:app-cluster:prod"]]);
await allow("bind-all", [], [["Group", "oidc:admins"]]);

/** Names by which the identity provider knows people, with their groups. */
const people = { ann: "ann+team-a", bob: "bob+team-b", dora: "dora+admins" } as const;
type PersonName = keyof typeof people;
const key = await newAnswerKey();

async function pageOf(person: PersonName) {
  const browser = new TestBrowser();
  const form = await browser.go(`${service.url}/authorize?s=session1&c=of-${person}&p=4321`);
  const page = await browser.submit(form, 'name="password"', { login: people[person], password: "x" });
  return { browser, page };
}

async function sessionOf(person: PersonName): Promise<string> {
  const browser = new TestBrowser();
  const query = new URLSearchParams({ t: "session", p: "4321", s: "login1", ek: key.publicKey });
  const form = await browser.go(`${service.url}/authorize?${query.toString()}`);
  const login = { login: people[person], password: "x" };
  const { url } = await browser.submit(form, 'name="password"', login, "http://localhost:4321");
  const offer = await openSessionOffer(key, url.searchParams.get("offer") ?? "");
  const taken = await fetch(`${other.url}/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ticket: offer.ticket }),
  });
  return (await openSession(key, ((await taken.json()) as { readonly answer: string }).answer)).session;
}

/** Returns yes, or no with the status. */
async function bind(route: string, token: string, clusterID: string, resource: string): Promise<string> {
  const answer = await fetch(`${other.url}/${route}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ clusterID, apis: [{ group: "example.org", resource }] }),
  });
  return answer.ok ? "yes" : `no ${answer.status}`;
}

async function canI(template: string, user: string, ...groups: readonly string[]): Promise<string> {
  const as = [`--as=${user}`, ...groups.map((group) => `--as-group=${group}`)];
  const args = [
    "auth",
    "can-i",
    "bind",
    `apiserviceexporttemplates/${template}`,
    "--namespace=default",
    ...as,
  ];
  return (await kubectl(...args).catch((error: { stdout?: string }) => error.stdout ?? "")).trim();
}

/** Asks as the app cluster's own account, in each namespace that the identity has. */
async function request(user: string, resource: string): Promise<string> {
  const { items } = await client.list<Grant>(grants);
  const namespace = items.find(({ spec }) => spec.identity.user === user)?.metadata.namespace;
  if (namespace === undefined) return "no app cluster";
  await using tenant = unlimitedClient(cluster, { namespace, name: "klutch-binder" });
  const name = `by-hand-${resource}`;
  await tenant.create(apiServiceExportRequests, exportRequest({ namespace, name }, resource));
  return waitFor(`an answer to ${name}`, async () => {
    const { status } = await client.get<APIServiceExportRequest>(apiServiceExportRequests, {
      namespace,
      name,
    });
    if (status?.phase === "Succeeded") return "yes";
    const { reason } = status?.conditions?.find(({ type }) => type === "ExportsReady") ?? {};
    return reason === "NotAllowed" ? "no NotAllowed" : undefined;
  });
}

const lines: string[] = [];
const note = (who: string, template: string, answers: Readonly<Record<string, string>>): void => {
  for (const [way, answer] of Object.entries(answers))
    lines.push(`${who} | ${template} | ${way} | ${answer}`);
  const isYes = Object.entries(answers).map(([way, answer]) => `${way}: ${answer.startsWith("yes")}`);
  const expected = String(answers["kubectl auth can-i"] === "yes");
  for (const one of isYes) assert.ok(one.endsWith(expected), `${who} ${template}: ${isYes.join(", ")}`);
};

test("every way in gives each person, program and app cluster the same templates as kubectl auth can-i", async () => {
  for (const person of ["ann", "bob", "dora"] as const) {
    const [name, group] = [people[person], people[person].split("+")[1] ?? ""];
    const session = await sessionOf(person);
    const headers = { authorization: `Bearer ${session}` };
    const listed = await (await fetch(`${backend.url}/api/templates`, { headers })).text();
    const { page } = await pageOf(person);
    for (const template of templates) {
      const { browser, page: fresh } = await pageOf(person);
      // A form of the person's own, where the page does not offer the API.
      const [shown = ""] = /value="(?:databases|queues|caches)"/.exec(fresh.html) ?? [];
      const html = fresh.html.replace(shown, `value="${template}"`);
      const loopback = "http://localhost:4321";
      const form =
        shown === ""
          ? "no form"
          : (await browser.submit({ ...fresh, html }, `value="${template}"`, {}, loopback)).status === 303
            ? "yes"
            : "no 403";
      note(person, template, {
        "kubectl auth can-i": await canI(template, `oidc:${name}`, `oidc:${group}`),
        "binding page": page.html.includes(`value="${template}"`) ? "yes" : "no",
        "form of the page": form,
        "klutch templates": listed.includes(`"${template}"`) ? "yes" : "no",
        "klutch login, bind": await bind("bind-noninteractive", session, `script-${person}`, template),
        "request of the app cluster": await request(`oidc:${name}`, template),
      });
    }
  }
  const program = await accessTokenOf(issuer, "tenant-a");
  for (const template of templates)
    note("program tenant-a", template, {
      "kubectl auth can-i": await canI(template, "oidc:client:tenant-a"),
      "POST /bind-noninteractive": await bind("bind-noninteractive", program, "ci", template),
      "request of the app cluster": await request("oidc:client:tenant-a", template),
    });
  const account = { namespace: "default", name: "konnector" };
  await client.create(serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: account });
  await client.create<KubeObject>(appClusters, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "AppCluster",
    metadata: { name: "prod" },
    spec: {
      identity: {
        issuer: "https://kubernetes.default.svc",
        subject: "system:serviceaccount:default:konnector",
        jwks: await kubectl("get", "--raw", "/openid/v1/jwks"),
      },
    },
  } as KubeObject);
  const audiences = [`${service.url}/bind-app-cluster`];
  const { token } = await serviceAccountToken(client, account, { expirationSeconds: 600, audiences });
  for (const template of templates)
    note("app cluster prod", template, {
      "kubectl auth can-i": await canI(template, "klutch:app-cluster:prod", "klutch:app-clusters"),
      "POST /bind-app-cluster": await bind("bind-app-cluster", token.reveal(), "prod", template),
      "request of the app cluster": await request("klutch:app-cluster:prod", template),
    });
  const file = new URL("ways-in.txt", import.meta.url);
  const text = `${lines.join("\n")}\n`;
  if (process.env["KLUTCH_REWRITE_ACCESS_MATRIX"] === "1") await writeFile(file, text);
  assert.equal(text, await readFile(file, "utf8"));
});
