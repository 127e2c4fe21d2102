/**
 * Asks for each API as people and a program with different rights, through two replicas of the backend of which one ends in the middle. A reviewed file
 * has the decisions, and each has one line in the audit log. What pages and kubectl say of the same rights is in ways-in.txt.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExportTemplates,
  type BindingResponse,
  type Grant,
  grants,
  templateGroup,
} from "@klutch/api";
import { parseForeignKubeconfig } from "@klutch/kube";
import {
  clusterRoleBindings,
  clusterRoles,
  customResourceDefinitions,
  isRecord,
  type KubeObject,
  textAt,
} from "@klutch/kube-core";
import { crdObject, roleObject, unlimitedClient, waitFor } from "@klutch/kube-testing";
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

const file = join(import.meta.dirname, "ways-across-replicas.txt");
const rewrite = "KLUTCH_REWRITE_WAYS_ACROSS=1 npm test -- authorization/ways-across";
const header = [
  "# Who may bind what through two replicas, of which one ends in the middle. Written by:",
  `#   ${rewrite}`,
  "# Roles: team-a may bind databases; team-b and the program tenant-a may bind queues; no one may bind caches.",
  "# A request is written by hand with the credential of the app cluster that the person or program has bound before.",
  "# who | way in | databases | queues | caches",
];

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { cluster, issuer, service, start } = await prepareReplicas(stack, "ways-across");
const { client } = cluster;
const templates = ["databases", "queues", "caches"] as const;
type Template = (typeof templates)[number];
for (const kind of ["Queue", "Cache"]) {
  const type = { ...databases, plural: `${kind.toLowerCase()}s`, kind };
  await client.create<KubeObject>(customResourceDefinitions, crdObject(type));
  await client.create(apiServiceExportTemplates, templateObject(type.group, type.plural));
}
const apiGroup = "rbac.authorization.k8s.io";
async function allow(template: Template, subjects: readonly (readonly [string, string])[]): Promise<void> {
  const name = `bind-${template}`;
  const resources = ["apiserviceexporttemplates"];
  const rule = { apiGroups: [templateGroup], resources, resourceNames: [template], verbs: ["bind"] };
  await client.create(clusterRoles, roleObject({ name }, [rule]));
  await client.create<KubeObject>(clusterRoleBindings, {
    apiVersion: `${apiGroup}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup, kind: "ClusterRole", name },
    subjects: subjects.map(([kind, subject]) => ({ apiGroup, kind, name: `oidc:${subject}` })),
  } as KubeObject);
}
const program = "tenant-a";
await allow("databases", [["Group", "team-a"]]);
await allow("queues", [
  ["Group", "team-b"],
  ["User", `client:${program}`],
]);
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
const people = ["ann+team-a", "ben+team-b"];
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

test("a program gets what the roles give its client", async () => {
  await look(program, "POST /bind-noninteractive", async (resource) => {
    const token = await accessTokenOf(issuer, program);
    const answer = await fetch(`${service.url}/bind-noninteractive`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ clusterID: "ci", apis: [{ group: "example.org", resource }] }),
    });
    if (answer.status !== 200) return `no, ${answer.status}`;
    remember(program, (await answer.json()) as BindingResponse);
    return "yes";
  });
});

test("a request that an app cluster writes by hand gets only what its people bound and may bind", async () => {
  const third = await start("three", ...flags);
  await switchTo(service, third);
  for (const who of [...people, program]) {
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
    if (!line.includes('"logger":"audit"')) continue;
    const record: unknown = JSON.parse(line);
    if (!isRecord(record) || record["decision"] !== "bind") continue;
    const key = [textAt(record["person"], "user"), record["way"], record["allowed"]].join(" ");
    found[key] = (found[key] ?? 0) + 1;
  }
  const of = (user: string, way: string, yes: number, no: number): Record<string, number> => ({
    [`${user} ${way} true`]: yes,
    [`${user} ${way} false`]: no,
  });
  const ways = (user: string): Record<string, number> => ({
    ...of(user, "redirect", 1, 2),
    ...of(user, "confirmed", 2, 4),
    ...of(user, "device", 1, 2),
    ...of(user, "session", 1, 2),
  });
  assert.deepEqual(found, {
    ...ways("oidc:ann+team-a"),
    ...ways("oidc:ben+team-b"),
    ...of(`oidc:client:${program}`, "ci", 1, 2),
  });
  const records = (await client.list<Grant>(grants)).items.map(
    ({ spec }) => `${spec.identity.user} ${spec.way}`,
  );
  const expected = Object.entries(found).flatMap(([key, times]) =>
    key.endsWith(" true") ? Array.from({ length: times }, () => key.slice(0, -5)) : [],
  );
  assert.deepEqual(records.toSorted(), expected.toSorted());
});

test("every decision is the one in the reviewed file", async () => {
  const order = [...people, program];
  const whoOf = (line: string): number => order.indexOf(line.split(" | ")[0] ?? "");
  const sorted = lines.toSorted((a, b) => whoOf(a) - whoOf(b));
  if (process.env["KLUTCH_REWRITE_WAYS_ACROSS"] === "1")
    await writeFile(file, `${[...header, ...sorted].join("\n")}\n`);
  const reviewed = (await readFile(file, "utf8").catch(() => "")).trimEnd().split("\n");
  const hint = `Decisions differ from ${file}. If this is meant, rewrite it and review each line: ${rewrite}`;
  assert.deepEqual([...header, ...sorted], reviewed, hint);
});
