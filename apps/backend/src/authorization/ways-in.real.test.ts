/**
 * Every way in asks the same question: each API for people, a program and an app cluster with different rights, through two replicas of the backend of
 * which one ends in the middle. A reviewed file has the decisions, all are those of `kubectl auth can-i`, and each has one line in the audit log.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExportTemplates,
  appClusters,
  type BindingResponse,
  type Grant,
  grants,
} from "@klutch/api";
import { parseForeignKubeconfig, serviceAccountToken } from "@klutch/kube";
import {
  customResourceDefinitions,
  isRecord,
  type KubeObject,
  serviceAccounts,
  textAt,
} from "@klutch/kube-core";
import {
  allowPeople,
  crdObject,
  ruleOn,
  startKubectl,
  type Subject,
  unlimitedClient,
  waitFor,
} from "@klutch/kube-testing";
import { TestBrowser } from "../testing/browser.ts";
import { deviceClientId } from "../testing/identity-provider.ts";
import {
  bindWithSession,
  confirmLanded,
  deviceLogin,
  logInForSession,
  newRun,
  openPage,
  type Outcome,
  sendForm,
} from "../testing/plugin.ts";
import { accessTokenOf } from "../testing/programs.ts";
import { databases, templateObject } from "../testing/provider.ts";
import { prepareReplicas, switchTo } from "../testing/replicas.ts";
import { exportRequest } from "../testing/tenants.ts";

const file = join(import.meta.dirname, "ways-in.txt");
const rewrite = "KLUTCH_REWRITE_ACCESS_MATRIX=1 npm test -- authorization/ways-in";
const header = [
  "# Who may bind what, by every way in, through two replicas of which one ends in the middle. Written by:",
  `#   ${rewrite}`,
  "# Roles: team-a and the app cluster prod may bind databases; team-b and the program tenant-a queues; admins everything.",
  "# A request is written by hand with the credential of the app cluster that the person or program has bound before.",
  "# who | way in | databases | queues | caches",
];

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { cluster, issuer, service, start } = await prepareReplicas(stack, "ways");
const { client } = cluster;
const templates = ["databases", "queues", "caches"] as const;
type Template = (typeof templates)[number];
for (const kind of ["Queue", "Cache"]) {
  const type = { ...databases, plural: `${kind.toLowerCase()}s`, kind };
  await client.create<KubeObject>(customResourceDefinitions, crdObject(type));
  await client.create(apiServiceExportTemplates, templateObject(type.group, type.plural));
}
/** Lets them bind a template; `all` stands for every one. */
function allow(template: Template | "all", subjects: readonly Subject[]): Promise<void> {
  const names = template === "all" ? [] : [template];
  return allowPeople(
    client,
    `bind-${template}`,
    ruleOn(apiServiceExportTemplates, ["bind"], names),
    subjects,
  );
}
const program = "tenant-a";
const appCluster = "prod";
await allow("databases", [
  ["Group", "oidc:team-a"],
  ["User", `klutch:app-cluster:${appCluster}`],
]);
await allow("queues", [
  ["Group", "oidc:team-b"],
  ["User", `oidc:client:${program}`],
]);
await allow("all", [["Group", "oidc:admins"]]);
const flags = [
  "--bind-authorization=rbac",
  "--oidc-extra-scope=groups",
  `--oidc-device-client-id=${deviceClientId}`,
  `--ci-clients=${program}`,
];
const replicas = await Promise.all([start("one", ...flags), start("two", ...flags)]);
const [first, second] = replicas;
service.route(first.url);

/** `ann+team-a` is ann in the group team-a. */
const people = ["ann+team-a", "ben+team-b", "dora+admins"];
const lines: string[] = [];
/** The cluster namespace of somebody's first bind. */
const bound = new Map<string, string>();

async function look(
  who: string,
  way: string,
  decide: (template: Template) => Promise<string>,
): Promise<void> {
  const cells: string[] = [];
  for (const template of templates) cells.push(await decide(template));
  lines.push([who, way, ...cells].join(" | "));
}

function remember(who: string, { kubeconfig }: BindingResponse): void {
  const { namespace } = parseForeignKubeconfig(Buffer.from(kubeconfig, "base64").toString());
  if (!bound.has(who) && namespace !== undefined) bound.set(who, namespace);
}

function cellOf(who: string, outcome: Outcome): string {
  if (outcome.kind === "refused") return `no, ${outcome.status}`;
  remember(who, outcome.response);
  return "yes";
}

const clusterOf = (who: string, way: string): string => `${who.replaceAll(/\W/g, "-")}-${way}`;

test("kubectl auth can-i, the page and klutch templates say the same of each person", async () => {
  const kubectl = await startKubectl(stack, cluster);
  const canI = (who: string, user: string, ...groups: readonly string[]): Promise<void> =>
    look(who, "kubectl auth can-i", async (template) => {
      const as = [`--as=${user}`, ...groups.map((group) => `--as-group=${group}`)];
      const what = `apiserviceexporttemplates/${template}`;
      const asked = kubectl("auth", "can-i", "bind", what, "--namespace=default", ...as);
      return (await asked.catch(({ stdout = "" }: { stdout?: string }) => stdout)).trim();
    });
  for (const who of people) {
    await canI(who, `oidc:${who}`, `oidc:${who.split("+")[1]}`);
    const { page } = await openPage(service.url, who, await newRun(clusterOf(who, "page")));
    await look(who, "binding page", async (template) =>
      page.html.includes(`value="${template}"`) ? "yes" : "no",
    );
    const headers = { authorization: `Bearer ${await logInForSession(service.url, who)}` };
    const listed = await (await fetch(`${service.url}/api/templates`, { headers })).text();
    await look(who, "klutch templates", async (template) =>
      listed.includes(`"${template}"`) ? "yes" : "no",
    );
  }
  await canI(program, `oidc:client:${program}`);
  await canI(appCluster, `klutch:app-cluster:${appCluster}`, "klutch:app-clusters");
});

test("a form of an earlier plugin is answered as the roles say, whatever its page shows", async () => {
  for (const who of people) {
    const run = await newRun(clusterOf(who, "form"));
    await look(who, "form of an earlier plugin", async (template) => {
      const { browser, page } = await openPage(service.url, who, run);
      const fields = [
        ["resource", template],
        ["group", "example.org"],
      ] as const;
      const landed = await sendForm(service.url, browser, page, fields);
      if (landed.status !== 303) return `no, ${landed.status}`;
      const sealed = landed.url.searchParams.get("response") ?? "";
      remember(who, JSON.parse(Buffer.from(sealed, "base64").toString()) as BindingResponse);
      return "yes";
    });
  }
});

test("a login at one replica is chosen and confirmed at the other, which then serves alone", async () => {
  const choose = async (who: string, m: string, apis: (template: Template) => string[]): Promise<void> =>
    look(who, m === "1" ? "form with several APIs" : "form with a wish", async (template) => {
      const run = await newRun(clusterOf(who, `several-${template}-${m.slice(0, 1)}`));
      await switchTo(service, first);
      const { browser, page } = await openPage(service.url, who, run, m);
      await switchTo(service, second);
      const fields = apis(template).map((api) => ["api", `${api}.example.org`] as const);
      return cellOf(
        who,
        await confirmLanded(service.url, run, await sendForm(service.url, browser, page, fields)),
      );
    });
  for (const who of people) {
    await choose(who, "1", (template) => [template]);
    await choose(who, "all", (template) => [template]);
  }
  await first.stop();
});

test("a login on another device gets the APIs of the person who approves", async () => {
  const approve = (who: string) => async (page: string, code: string) => {
    const browser = new TestBrowser();
    const asked = await browser.submit(await browser.go(page), "op.deviceInputForm", { user_code: code });
    const login = await browser.submit(asked, 'name="confirm"');
    return browser.submit(login, 'name="password"', { login: who, password: "x" });
  };
  for (const who of people) {
    // Each waits for the interval of the identity provider.
    const outcomes = await Promise.all(
      templates.map(async (template) => {
        const run = await newRun(clusterOf(who, `device-${template}`));
        return deviceLogin(service.url, run, `apis=${template}.example.org`, approve(who));
      }),
    );
    await look(who, "device", async (template) => {
      const outcome = outcomes[templates.indexOf(template)];
      return outcome === undefined ? "" : cellOf(who, outcome);
    });
  }
});

test("a session binds what its person may bind", async () => {
  for (const who of people) {
    const session = await logInForSession(service.url, who);
    await look(who, "session", async (template) => {
      const id = clusterOf(who, `session-${template}`);
      return cellOf(who, await bindWithSession(service.url, session, id, `apis=${template}`));
    });
  }
});

/** Sends one request with a token, as programs and konnectors do. */
async function post(who: string, route: string, token: string, clusterID: string): Promise<void> {
  await look(who, `POST /${route}`, async (resource) => {
    const answer = await fetch(`${service.url}/${route}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ clusterID, apis: [{ group: "example.org", resource }] }),
    });
    if (answer.status !== 200) return `no, ${answer.status}`;
    remember(who, (await answer.json()) as BindingResponse);
    return "yes";
  });
}

test("a program gets what the roles give its client, and an app cluster what they give its AppCluster", async () => {
  await post(program, "bind-noninteractive", await accessTokenOf(issuer, program), "ci");
  const account = { namespace: "default", name: "konnector" };
  await client.create(serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: account });
  const kubectl = await startKubectl(stack, cluster);
  const identity = {
    issuer: "https://kubernetes.default.svc",
    subject: "system:serviceaccount:default:konnector",
    jwks: await kubectl("get", "--raw", "/openid/v1/jwks"),
  };
  await client.create<KubeObject>(appClusters, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "AppCluster",
    metadata: { name: appCluster },
    spec: { identity },
  } as KubeObject);
  const audiences = [`${service.url}/bind-app-cluster`];
  const { token } = await serviceAccountToken(client, account, { expirationSeconds: 600, audiences });
  await post(appCluster, "bind-app-cluster", token.reveal(), appCluster);
});

test("a request that an app cluster writes by hand gets only what its people bound and may bind", async () => {
  const third = await start("three", ...flags);
  await switchTo(service, third);
  for (const who of [...people, program, appCluster]) {
    const namespace = bound.get(who) ?? assert.fail(`${who} has bound nothing`);
    await using tenant = unlimitedClient(cluster, { namespace, name: "klutch-binder" });
    await look(who, "request by hand", async (template) => {
      const ref = { namespace, name: `by-hand-${template}` };
      await tenant.create(apiServiceExportRequests, exportRequest(ref, template));
      return waitFor(`the answer to ${ref.name} of ${who}`, async () => {
        const { status } = await client.get<APIServiceExportRequest>(apiServiceExportRequests, ref);
        if (status?.phase === "Succeeded") return "yes";
        const ready = status?.conditions?.find(({ type }) => type === "ExportsReady");
        return ready?.status === "False" && ready.reason !== undefined ? `no, ${ready.reason}` : undefined;
      });
    });
  }
});

test("each decision has one line in the audit log, and each yes a Grant of that way", async () => {
  const logs = await Promise.all(
    ["one", "two", "three"].map((name) => readFile(join(cluster.dataDir, `${name}.log`), "utf8")),
  );
  // Each login with several APIs began at the first replica.
  assert.doesNotMatch(logs[0] ?? "", /"way":"confirmed"/);
  assert.match(logs[0] ?? "", /"way":"redirect"/);
  const found: Record<string, number> = {};
  for (const line of logs.join("\n").split("\n")) {
    if (!line.includes('"component":"audit"')) continue;
    const record: unknown = JSON.parse(line);
    if (!isRecord(record) || record["decision"] !== "bind") continue;
    const key = [textAt(record["person"], "user"), record["way"], record["allowed"]].join(" ");
    found[key] = (found[key] ?? 0) + 1;
  }
  const of = (user: string, way: string, yes: number, no: number): Record<string, number> => ({
    [`${user} ${way} true`]: yes,
    [`${user} ${way} false`]: no,
  });
  const ways = (user: string, yes = 1): Record<string, number> => ({
    ...of(user, "redirect", yes, 3 - yes),
    ...of(user, "confirmed", 2 * yes, 2 * (3 - yes)),
    ...of(user, "device", yes, 3 - yes),
    ...of(user, "session", yes, 3 - yes),
  });
  const all = {
    ...ways("oidc:ann+team-a"),
    ...ways("oidc:ben+team-b"),
    ...ways("oidc:dora+admins", 3),
    ...of(`oidc:client:${program}`, "ci", 1, 2),
    ...of(`klutch:app-cluster:${appCluster}`, "token", 1, 2),
  };
  assert.deepEqual(found, Object.fromEntries(Object.entries(all).filter(([, times]) => times > 0)));
  const records = (await client.list<Grant>(grants)).items.map(
    ({ spec }) => `${spec.identity.user} ${spec.way}`,
  );
  const expected = Object.entries(found).flatMap(([key, times]) =>
    key.endsWith(" true") ? Array.from({ length: times }, () => key.slice(0, -5)) : [],
  );
  assert.deepEqual(records.toSorted(), expected.toSorted());
});

test("every decision is that of kubectl auth can-i, and the one in the reviewed file", async () => {
  const order = [...people, program, appCluster];
  for (const who of order) {
    const answers = lines.flatMap((line) => {
      const [one, , ...cells] = line.split(" | ");
      return one === who ? [cells.map((cell) => cell.replace(/,.*/, "")).join()] : [];
    });
    assert.equal(new Set(answers).size, 1, `${who}: ${answers.join("; ")}`);
  }
  const whoOf = (line: string): number => order.indexOf(line.split(" | ")[0] ?? "");
  const sorted = lines.toSorted((a, b) => whoOf(a) - whoOf(b));
  if (process.env["KLUTCH_REWRITE_ACCESS_MATRIX"] === "1")
    await writeFile(file, `${[...header, ...sorted].join("\n")}\n`);
  const reviewed = (await readFile(file, "utf8").catch(() => "")).trimEnd().split("\n");
  const hint = `Decisions differ from ${file}. If this is meant, rewrite it and review each line: ${rewrite}`;
  assert.deepEqual([...header, ...sorted], reviewed, hint);
});
