/** Tests `klutch members`, `audit` and `revoke` on a real control plane with the backend as a process. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  apiServiceExports,
  binderName,
  binderRules,
  bindCrds,
  clusterBindingName,
  clusterBindings,
  clusterNameAnnotation,
  displayNameLimit,
  type Grant,
  grants,
  identityAnnotation,
  issuerAnnotation,
  kubeconfigKey,
  membersAnnotation,
  renewalKeyAnnotation,
  revokedAnnotation,
} from "@klutch/api";
import { clusterRoles, events, type KubeObject, namespaces, serviceAccounts } from "@klutch/kube-core";
import {
  installKinds,
  leaseCluster,
  namespaceObject,
  roleObject,
  serviceAccountObject,
  startBackendProcess,
  waitFor,
} from "@klutch/kube-testing";
import { type Finished, type Outside, startRun } from "../testing/run.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "tenants" }));
const { client } = cluster;
await installKinds(client, bindCrds);
await client.create(clusterRoles, roleObject({ name: binderName }, binderRules));
const kubeconfig = join(cluster.dataDir, "operator.kubeconfig");
await writeFile(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
const flags = ["--control-plane-mode", "--lease-namespace=default"];
stack.use(await startBackendProcess(cluster, { name: "tenants-backend", servesLogin: false, flags }));

const issuer = "https://idp.example";
const apiVersion = "klutch.anynines.com/v1alpha1";

/** Makes a tenant as logins leave it: founder, members, exports; and a Grant for each `person:api`. */
async function tenant(
  name: string,
  clusterName: string,
  founder: string,
  members: readonly string[],
  bound: readonly string[],
): Promise<void> {
  const list = members.map((subject) => ({ issuer, subject, since: "2026-02-01T00:00:00Z" }));
  await client.create(
    namespaces,
    namespaceObject(name, {
      [identityAnnotation]: `${founder}#abc123`,
      [issuerAnnotation]: issuer,
      [membersAnnotation]: JSON.stringify(list),
    }),
  );
  await client.create(serviceAccounts, serviceAccountObject({ namespace: name, name: binderName }));
  await client.create<KubeObject>(clusterBindings, {
    apiVersion,
    kind: "ClusterBinding",
    metadata: {
      namespace: name,
      name: clusterBindingName,
      annotations: { [clusterNameAnnotation]: clusterName },
    },
    spec: { kubeconfigSecretRef: { name: kubeconfigKey, key: kubeconfigKey }, providerPrettyName: "Tests" },
  } as KubeObject);
  for (const api of new Set(bound.map((one) => one.split(":")[1] ?? ""))) {
    const spec = {
      group: "example.org",
      names: { plural: api, singular: api, kind: "Thing", listKind: "ThingList" },
      scope: "Namespaced",
      informerScope: "Namespaced",
      versions: [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
      ],
    };
    await client.create<KubeObject>(apiServiceExports, {
      apiVersion,
      kind: "APIServiceExport",
      metadata: { namespace: name, name: `${api}.example.org` },
      spec,
    } as KubeObject);
  }
  for (const [index, one] of bound.entries()) {
    const [person = "", resource = ""] = one.split(":");
    const identity = {
      issuer,
      subject: person,
      user: `oidc:${person}`,
      displayName: `${person}@example.org`,
    };
    const template = { namespace: "default", name: resource };
    const spec = {
      identity,
      api: { group: "example.org", resource },
      template,
      boundAt: `2026-03-0${index + 1}T00:00:00Z`,
      way: "confirmed",
      address: "192.0.2.1",
    };
    const metadata = { namespace: name, name: `grant-${person}-${resource}` };
    await client.create<Grant>(grants, { apiVersion, kind: "Grant", metadata, spec });
  }
  const first = bound[0]?.replace(":", "-");
  await waitFor("the backend", async () =>
    first === undefined
      ? true
      : (await client.get(grants, { namespace: name, name: `grant-${first}` })).metadata.finalizers?.length,
  );
}

await tenant("cluster-one", "prod-eu", "ann", ["bob"], ["ann:databases", "bob:databases", "ann:queues"]);
await tenant("cluster-two", "kind-dev", "ann", [], ["ann:databases"]);
await tenant("cluster-old", "", "old#er", ["zoe"], []);

async function klutch(args: readonly string[], outside: Outside = {}): Promise<Finished> {
  return startRun("klutch", [...args, "--kubeconfig", kubeconfig], outside).done;
}
async function refused(args: readonly string[], words: RegExp, outside: Outside = {}): Promise<void> {
  const run = await klutch(args, outside);
  assert.equal(run.code, 1, run.stdout());
  assert.match(run.stderr(), words);
}
const annotationsOf = async (name: string): Promise<Readonly<Record<string, string>>> =>
  (await client.get<KubeObject>(namespaces, { name })).metadata.annotations ?? {};
const grantsIn = async (namespace: string): Promise<readonly string[]> =>
  (await client.list<Grant>(grants, { namespace })).items
    .map(({ spec }) => `${spec.identity.user}:${spec.api.resource}`)
    .toSorted();
const markOf = async (namespace: string, api: string): Promise<string | undefined> =>
  (await client.get<KubeObject>(apiServiceExports, { namespace, name: `${api}.example.org` })).metadata
    .annotations?.[revokedAnnotation];
const accountOf = (namespace: string): Promise<KubeObject | undefined> =>
  client.find<KubeObject>(serviceAccounts, { namespace, name: binderName });

test("members lists founder, members and people of Grants once each, as a table and as JSON", async () => {
  const { code, ...run } = await klutch(["members"]);
  assert.equal(code, 0, run.stderr());
  const lines = run.stdout().trimEnd().split("\n");
  assert.match(lines[0] ?? "", /^TENANT +CLUSTER +USER +PERSON +SINCE +LAST BOUND +APIS$/);
  assert.equal(lines.length, 6);
  assert.match(
    run.stdout(),
    /^cluster-one +prod-eu +oidc:ann +ann@example\.org +\S+ +2026-03-03T00:00:00Z +databases\.example\.org, queues\.example\.org$/m,
  );
  assert.match(run.stdout(), /^cluster-old +old#er +/m);
  const json = JSON.parse((await klutch(["members", "cluster-one", "-o", "json"])).stdout()) as {
    tenants: { tenant: string; people: Record<string, unknown>[] }[];
  };
  assert.deepEqual(
    json.tenants.map(({ tenant: name, people }) => [name, people.map(({ user }) => user)]),
    [["cluster-one", ["oidc:ann", "oidc:bob"]]],
  );
  assert.deepEqual(json.tenants[0]?.people[1], {
    issuer,
    subject: "bob",
    since: "2026-02-01T00:00:00Z",
    user: "oidc:bob",
    displayName: "bob@example.org",
    lastBound: "2026-03-02T00:00:00Z",
    apis: ["databases.example.org"],
  });
});

test("audit lists Grants and events of tenants, newest first", async () => {
  await client.create<KubeObject>(events, {
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace: "cluster-one", name: "later" },
    involvedObject: { kind: "ClusterBinding", name: "cluster", namespace: "cluster-one" },
    reason: "Evil",
    message: "a\u001b[31m line\nand another",
    lastTimestamp: "2026-04-01T00:00:00Z",
  } as KubeObject);
  const run = await klutch(["audit", "cluster-one"]);
  assert.equal(run.code, 0, run.stderr());
  const [header, ...lines] = run.stdout().trimEnd().split("\n");
  assert.match(header ?? "", /^TIME +TENANT +CLUSTER +WHAT +USER +API +WAY +ADDRESS +PERMISSION CLAIMS$/);
  assert.deepEqual(
    lines.map((line) => line.slice(0, 10)),
    ["2026-04-01", "2026-03-03", "2026-03-02", "2026-03-01"],
  );
  assert.match(lines[1] ?? "", /bound +oidc:ann +queues\.example\.org +confirmed +192\.0\.2\.1/);
  assert.ok(!run.stdout().includes("\u001b"));
  const { entries } = JSON.parse((await klutch(["audit", "-o", "json"])).stdout()) as {
    entries: { tenant: string }[];
  };
  assert.deepEqual(new Set(entries.map(({ tenant: name }) => name)), new Set(["cluster-one", "cluster-two"]));
});

test("unknown names are refused with the nearest ones, and names that people chose select nothing", async () => {
  await refused(
    ["members", "prod-eu"],
    /"prod-eu" is not the cluster namespace of a tenant\. Did you mean cluster-one \(prod-eu\)\?/,
  );
  await refused(["revoke", "cluster", "cluster-onee", "--yes"], /Did you mean cluster-one \(prod-eu\)/);
  await refused(
    ["revoke", "member", "ann@example.org", "--yes", "--end-apis"],
    /No person with the user name or subject "ann@example\.org".*Did you mean oidc:ann \(ann@example\.org\)\?/,
  );
  await refused(
    ["revoke", "api", "databases", "--tenant", "cluster-one", "--yes"],
    /has not bound "databases"\. Did you mean databases\.example\.org\? It has bound databases\.example\.org, queues\.example\.org\./,
  );
  await refused(
    ["revoke", "api", "databases.example.org", "--yes"],
    /required option '--tenant <namespace>'/,
  );
  await refused(
    ["revoke", "member", "x".repeat(10_000 * displayNameLimit), "--yes"],
    /No person with the user name/,
  );
  await refused(["revoke", "member", "oidc:ann", "--end-apis", "--keep-apis"], /exclude each other/);
});

test("a person whose APIs would end is removed only by a word, and nothing is written before a yes", async () => {
  const before = [await grantsIn("cluster-one"), await annotationsOf("cluster-one")];
  await refused(
    ["revoke", "member", "oidc:ann", "--yes"],
    /Only oidc:ann bound queues\.example\.org of cluster-one \(prod-eu\); databases\.example\.org of cluster-two \(kind-dev\)\. Pass --end-apis .* or --keep-apis/,
  );
  await refused(["revoke", "member", "oidc:ann", "--end-apis"], /Not confirmed.*Pass --yes/s);
  await refused(["revoke", "member", "oidc:ann", "--end-apis"], /Not confirmed/, { answers: ["no"] });
  const dry = await klutch(["revoke", "member", "oidc:ann", "--end-apis", "--dry-run"]);
  assert.equal(dry.code, 0, dry.stderr());
  assert.match(
    dry.stderr(),
    /remove oidc:ann from app cluster cluster-one \(prod-eu\); end queues\.example\.org/,
  );
  assert.deepEqual([await grantsIn("cluster-one"), await annotationsOf("cluster-one")], before);
});

test("--keep-apis hands what only this person bound to the operator, for one tenant", async () => {
  const args = ["revoke", "member", "oidc:ann", "--tenant", "cluster-two", "--keep-apis"];
  const run = await klutch(args, { answers: ["yes"] });
  assert.equal(run.code, 0, run.stderr());
  const [kept, ...others] = (await client.list<Grant>(grants, { namespace: "cluster-two" })).items;
  assert.deepEqual(others, []);
  const who = kept?.spec.identity.user ?? "";
  assert.deepEqual(
    [who === "" || who === "oidc:ann", kept?.spec.way, kept?.spec.api.resource],
    [false, "operator", "databases"],
  );
  assert.equal(await markOf("cluster-two", "databases"), undefined);
  assert.notEqual(await accountOf("cluster-two"), undefined);
  const annotations = await annotationsOf("cluster-two");
  assert.deepEqual(
    [annotations[identityAnnotation], annotations[issuerAnnotation]],
    ["#abc123", "klutch:removed"],
  );
  // No login has an empty subject, so no one is the founder now, and she is in the other one still.
  assert.match((await klutch(["members"])).stdout(), /^cluster-one +prod-eu +oidc:ann /m);
});

test("--end-apis removes a leaver from all app clusters with one command, and what others bound goes on", async () => {
  const run = await klutch(["revoke", "member", "ann", "--end-apis", "--yes"]);
  assert.equal(run.code, 0, run.stderr());
  assert.match(run.stderr(), /ann is removed from 1 app cluster\. To keep them out/);
  assert.deepEqual(await grantsIn("cluster-one"), ["oidc:bob:databases"]);
  assert.match((await markOf("cluster-one", "queues")) ?? "", /^2/);
  assert.equal(await markOf("cluster-one", "databases"), undefined);
  assert.notEqual(await accountOf("cluster-one"), undefined);
  const annotations = await annotationsOf("cluster-one");
  assert.match(annotations[membersAnnotation] ?? "", /bob/);
  assert.equal(annotations[identityAnnotation], "#abc123");
  await refused(["revoke", "member", "oidc:ann", "--yes"], /No person with the user name or subject/);
});

test("a member without a Grant is removed from the list, and the others stay", async () => {
  const run = await klutch(["revoke", "member", "zoe", "--yes"]);
  assert.equal(run.code, 0, run.stderr());
  const annotations = await annotationsOf("cluster-old");
  assert.deepEqual(
    [annotations[membersAnnotation], annotations[identityAnnotation]],
    ["[]", "old#er#abc123"],
  );
});

test("revoke api takes the API and, as it was the last, the account; a second time says why not", async () => {
  const args = ["revoke", "api", "databases.example.org", "--tenant", "cluster-one", "--yes"];
  const run = await klutch(args);
  assert.equal(run.code, 0, run.stderr());
  assert.match((await markOf("cluster-one", "databases")) ?? "", /^2/);
  assert.equal(await accountOf("cluster-one"), undefined);
  await refused(
    args,
    /has databases\.example\.org without a Grant: it was bound by an earlier release, or is revoked already/,
  );
});

test("revoke cluster does what the operator's page says", async () => {
  const run = await klutch(["revoke", "cluster", "cluster-two", "--yes"]);
  assert.equal(run.code, 0, run.stderr());
  assert.equal((await annotationsOf("cluster-two"))[renewalKeyAnnotation], "revoked");
  assert.equal(await accountOf("cluster-two"), undefined);
  assert.match(run.stderr(), /kubectl annotate namespace cluster-two klutch\.anynines\.com\/renewal-key-/);
});
