/** Tests `klutch cost` on a real control plane. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  apiServiceExportTemplates,
  backups,
  bindCrds,
  binderName,
  binderRules,
  providerCrds,
  serviceInstances,
  serviceNamespaceAnnotation,
  type Tenant,
  tenants,
  usageAnnotation,
  type UsageLedger,
  usageLedgers,
} from "@klutch/api";
import { parseYaml } from "@klutch/kube";
import {
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  type DynamicObject,
  namespaces,
  recordAt,
  type ResourceType,
} from "@klutch/kube-core";
import {
  crdObject,
  installKinds,
  leaseCluster,
  namespaceObject,
  roleBindingObject,
  roleObject,
} from "@klutch/kube-testing";
import { startRun } from "../testing/run.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "cost" }));
const { client } = cluster;
await installKinds(client, [...providerCrds, ...bindCrds]);
const kubeconfig = join(cluster.dataDir, "operator.kubeconfig");
await writeFile(kubeconfig, cluster.kubeconfig, { mode: 0o600 });

const used = { service: "pg", plan: "small", config: "broker" };
for (const [name, owner] of [
  ["klutch-a-team", "klutch-a/team"],
  ["klutch-b-team", "klutch-b/team"],
] as const)
  await client.create(namespaces, namespaceObject(name, { [serviceNamespaceAnnotation]: owner }));
await client.create(namespaces, namespaceObject("crossplane-system", {}));

const ledger = (namespace: string, seconds: number): UsageLedger => ({
  apiVersion: "dataservices.anynines.com/v1",
  kind: "UsageLedger",
  metadata: { name: `${namespace}.2021` },
  spec: { namespace, year: 2021, rows: [{ ...used, month: "2021-10", seconds, ended: 2 }] },
});
await client.create(usageLedgers, ledger("klutch-a-team", 36_000));
await client.create(usageLedgers, ledger("klutch-b-team", 7_200));
await client.create<DynamicObject>(serviceInstances, {
  apiVersion: "dataservices.anynines.com/v1",
  kind: "ServiceInstance",
  metadata: {
    name: "living",
    labels: { "crossplane.io/claim-namespace": "klutch-b-team" },
    annotations: {
      [usageAnnotation]: JSON.stringify({ closed: [], open: { ...used, from: "2021-10-31T23:00:00Z" } }),
    },
  },
  spec: {
    forProvider: { serviceName: "pg", planName: "small", organizationGuid: "o", spaceGuid: "s" },
  },
});

/** A command that has ended, with its output. */
interface Printed {
  readonly code: number;
  readonly out: string;
  readonly said: string;
}

const run = async (args: readonly string[]): Promise<Printed> => {
  const finished = await startRun("klutch", [...args, "--kubeconfig", kubeconfig], {}).done;
  return { code: finished.code, out: finished.stdout(), said: finished.stderr() };
};
const cost = (...args: readonly string[]): Promise<Printed> =>
  run(["cost", "--since", "2021-10", "--until", "2021-11", ...args]);

const list = (price: string): string =>
  `apiVersion: services.klutch.anynines.com/v1alpha1\nkind: PriceList\nprices:\n  - { service: pg, plan: small, price: ${price} }\n`;

async function setPrices(text: string): Promise<void> {
  const ref = { namespace: "crossplane-system", name: "klutch-prices" };
  await client.delete(configMaps, ref).catch(() => undefined);
  await client.create<DynamicObject>(configMaps, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: ref,
    data: { "prices.yaml": text },
  });
}

test("without prices the hours are shown, and a line says so", async () => {
  const { code, out, said } = await cost();
  assert.equal(code, 0, said);
  assert.match(out, /klutch-a +pg +small +10\.00 +- +- +- +no price/);
  assert.match(said, /1 plan without a price: "pg\/small"/);
});

test("hours and cost of each app cluster, of databases that are gone and of living ones", async () => {
  await setPrices(list('{ currency: EUR, perHour: "0.5" }'));
  const { code, out, said } = await cost();
  assert.equal(code, 0, said);
  assert.deepEqual(
    out
      .trim()
      .split("\n")
      .map((line) => line.split(/ {2,}/)),
    [
      ["TENANT", "SERVICE", "PLAN", "HOURS", "SIZE", "BACKUPS", "BACKUP-GIB-MONTHS", "COST", "CURRENCY"],
      ["klutch-a", "pg", "small", "10.00", "-", "-", "-", "5.00", "EUR"],
      ["klutch-b", "pg", "small", "3.00", "-", "-", "-", "1.50", "EUR"],
      ["Total", "6.50", "EUR"],
    ],
  );
  const one = await cost("--tenant", "klutch-b", "-o", "json");
  assert.deepEqual(JSON.parse(one.out), {
    since: "2021-10",
    until: "2021-11",
    lines: [
      {
        tenant: "klutch-b",
        service: "pg",
        plan: "small",
        broker: "broker",
        month: "2021-10",
        seconds: 10_800,
        ended: 2,
        cost: "1.50",
        currency: "EUR",
      },
    ],
    totals: [{ currency: "EUR", cost: "1.50" }],
  });
  assert.match((await cost("-o", "csv")).out, /^klutch-a,pg,small,broker,2021-10,36000,2,5\.00,EUR,,,,,,,$/m);
});

test("backups have a price by their bytes, and one whose size jumps is named; the exit code is 2", async () => {
  await setPrices(list('{ currency: EUR, perHour: "0.5", backupPerGiBMonth: "0.73" }'));
  const usage = { ...used, from: "2021-10-31T14:00:00Z", bytes: 2 ** 31 };
  const one = (name: string, more: object): DynamicObject => ({
    apiVersion: "dataservices.anynines.com/v1",
    kind: "Backup",
    metadata: {
      name,
      labels: { "crossplane.io/claim-namespace": "klutch-b-team" },
      annotations: { [usageAnnotation]: JSON.stringify({ ...usage, ...more }) },
    },
    spec: { forProvider: { instanceName: "living" } },
  });
  await client.create(backups, one("kept", {}));
  const { code, out, said } = await cost("--tenant", "klutch-b");
  assert.equal(code, 0, said);
  assert.match(out, /klutch-b +pg +small +3\.00 +- +1 +0\.027 +1\.52 +EUR/);
  await client.create(backups, one("jumps", { fault: "the size jumps" }));
  const doubtful = await cost("-o", "json");
  assert.equal(doubtful.code, 2, doubtful.said);
  assert.match(doubtful.said, /Backup jumps counts with the first told size: the size jumps\./);
  const { doubtfulBackups } = JSON.parse(doubtful.out) as Record<
    string,
    readonly { readonly name: string }[]
  >;
  assert.deepEqual(
    doubtfulBackups?.map(({ name }) => name),
    ["jumps"],
  );
  for (const name of ["kept", "jumps"]) await client.delete(backups, { name });
  await setPrices(list('{ currency: EUR, perHour: "0.5" }'));
});

test("a damaged ledger is named and left out of the bill, whose exit code is 2", async () => {
  const lying = ledger("klutch-b-team", 2 ** 53 - 1);
  await client.create(usageLedgers, { ...lying, metadata: { name: "damaged" } });
  const { code, out, said } = await cost("-o", "json");
  assert.equal(code, 2, said);
  const { lines, damagedLedgers } = JSON.parse(out) as Record<string, readonly { readonly name: string }[]>;
  assert.equal(lines?.length, 2);
  assert.deepEqual(
    damagedLedgers?.map(({ name }) => name),
    ["damaged"],
  );
  assert.match(
    said,
    /The bill leaves UsageLedger damaged out: spec\.rows\[0\]\.seconds is not a whole number/,
  );
  await client.delete(usageLedgers, { name: "damaged" });
});

test("a tenant whose budget is spent is marked, for people and for programs, and all others are not", async () => {
  const month = new Date().toISOString().slice(0, 7);
  const now = ledger("klutch-a-team", 36_000);
  const rows = [{ ...used, month, seconds: 36_000, ended: 1 }];
  await client.create(usageLedgers, { ...now, metadata: { name: "now" }, spec: { ...now.spec, rows } });
  for (const [namespace, currency, perMonth] of [
    ["klutch-a", "EUR", "4.00"],
    ["klutch-b", "EUR", "99999.00"],
    ["klutch-c", "USD", "1.00"],
  ] as const) {
    await client.create(namespaces, namespaceObject(namespace, {}));
    await client.create<Tenant>(tenants, {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "Tenant",
      metadata: { namespace, name: "tenant" },
      spec: { budget: { currency, perMonth } },
    });
  }
  const { code, out, said } = await run(["cost", "-o", "json"]);
  assert.equal(code, 0, said);
  const { budgets } = JSON.parse(out) as { readonly budgets: readonly Readonly<Record<string, unknown>>[] };
  assert.deepEqual(
    budgets.map(({ tenant, state, percent }) => [tenant, state, percent]),
    [
      ["klutch-a", "over", 125],
      ["klutch-b", "within", 0],
      ["klutch-c", "within", 0],
    ],
  );
  assert.match(said, /^Budget of klutch-a: over budget, 5\.00 of 4\.00 EUR \(125 %\) in /m);
  assert.ok(!said.includes("Budget of klutch-c"));
  assert.ok(!(await cost()).said.includes("Budget of"), "another month has no budget");
  await client.delete(usageLedgers, { name: "now" });
});

test("an idle database is named with its price, once its broker told its last session, and its size is in this month's bill", async () => {
  const silent = await run(["cost", "--idle"]);
  assert.deepEqual([silent.code, silent.out], [0, ""], silent.said);
  assert.match(
    silent.said,
    /Brokers tell the last session of 0 of 1 database; nothing is known of the others/,
  );
  const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
  const measured = { at: daysAgo(0), bytes: 3 * 2 ** 30, lastSession: daysAgo(40.5) };
  await client.mergePatch(
    serviceInstances,
    { name: "living" },
    { status: { atProvider: { measured } } },
    { subresource: "status" },
  );
  const { code, out, said } = await run(["cost", "--idle"]);
  assert.equal(code, 0, said);
  assert.match(out, /^klutch-b +team +living +pg +small +\S+Z +40 +3\.0 GiB +365\.00 +EUR$/m);
  assert.equal(said.trim(), "");
  assert.equal((await run(["cost", "--idle", "41d"])).out, "");
  assert.equal((await run(["cost", "--idle", "--tenant", "klutch-a"])).out, "");
  const refused = await run(["cost", "--idle", "--since", "2021-10"]);
  assert.notEqual(refused.code, 0);
  assert.match(refused.said, /--idle tells of now; leave --since and --until out/);
  assert.match((await run(["cost"])).out, /^klutch-b +pg +small +\S+ +3\.0 GiB /m);
});

test("offers shows the prices of the plans that the schema of a kind allows, and no price of a list with a fault", async () => {
  const things: ResourceType = {
    group: "example.org",
    version: "v1",
    plural: "things",
    kind: "Thing",
    namespaced: true,
  };
  const one = (...names: readonly string[]): object => ({ type: "string", enum: names });
  const properties = { service: one("pg", "pg13"), plan: one("small", "big") };
  const schema = { spec: { type: "object", properties } };
  await installKinds(client, [crdObject(things, { properties: schema })]);
  await client.create<DynamicObject>(apiServiceExportTemplates, {
    apiVersion: "example-backend.klutch.anynines.com/v1alpha1",
    kind: "APIServiceExportTemplate",
    metadata: { namespace: "default", name: "things" },
    spec: { APIServiceSelector: { group: things.group, resource: things.plural } },
  });
  const wide = await run(["offers", "-o", "wide"]);
  assert.match(wide.out, /^API .* CLUSTERS +PRICE +REGIONS +BACKUPS +PROBLEM$/m);
  assert.match(wide.out, /^things\.example\.org .* small 365\.00 EUR \(pg\)/m);
  assert.match((await run(["offers", "-o", "json"])).out, /"price": "small 365\.00 EUR \(pg\)"/);
  assert.doesNotMatch((await run(["offers"])).out, /PRICE|365/);
  await setPrices(list('{ currency: EUR, perHour: "-1" }'));
  const lied = await run(["offers", "-o", "wide"]);
  assert.match(lied.said, /^No prices are shown: .*klutch-prices are not valid/m);
  assert.match(lied.out, /^things\.example\.org/m);
  await setPrices(list('{ currency: EUR, perHour: "0.5" }'));
});

test("a price that lies is refused with its field, and no cost is shown", async () => {
  for (const [price, fault] of [
    ['{ currency: EUR, perHour: "-0.5" }', /prices\[0\]\.price\.perHour/],
    ['{ currency: EUR, perHour: "1", perMonth: "1" }', /prices\[0\]\.price.*two prices/],
    ['{ currency: EUR, perHour: "1e99999" }', /prices\[0\]\.price\.perHour/],
  ] as const) {
    await setPrices(list(price));
    const { code, out, said } = await cost();
    assert.equal(code, 1);
    assert.equal(out, "");
    assert.match(said, /ConfigMap crossplane-system\/klutch-prices/);
    assert.match(said, fault);
  }
});

test("a time that is no beginning of a month is refused with what to write", async () => {
  const { code, said } = await cost("--since", "2021-10-15");
  assert.equal(code, 1);
  assert.match(said, /--since "2021-10-15" is not the beginning of a month.*write for example 2026-11/);
});

test("the API server refuses a ledger with a negative sum, or with byte-seconds that are no whole number", async () => {
  const lying = ledger("klutch-c-team", 1);
  const own = { made: 1, seconds: 1, unsizedSeconds: 0, byteSeconds: "-1" };
  const rows = lying.spec.rows.map((row) => ({ ...row, backups: own }));
  const spec = { ...lying.spec, rows };
  await assert.rejects(client.create(usageLedgers, { ...lying, spec }), /byteSeconds/);
  await assert.rejects(client.create(usageLedgers, ledger("klutch-c-team", -1)), /seconds/);
});

test("an app cluster's account can neither read nor write ledgers", async () => {
  await client.create(clusterRoles, roleObject({ name: binderName }, binderRules));
  const account = { namespace: "klutch-a-team", name: binderName };
  const binding = roleBindingObject(
    { name: "all-of-it" },
    { kind: "ClusterRole", name: binderName },
    account,
  );
  // More than a tenant ever gets: its rules in the whole cluster.
  await client.create(clusterRoleBindings, binding);
  const reviews: ResourceType = {
    group: "authorization.k8s.io",
    version: "v1",
    plural: "subjectaccessreviews",
    kind: "SubjectAccessReview",
    namespaced: false,
  };
  for (const verb of ["get", "list", "watch", "create", "update", "patch", "delete"]) {
    const review = await client.create<DynamicObject>(reviews, {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      metadata: {},
      spec: {
        user: `system:serviceaccount:klutch-a-team:${binderName}`,
        resourceAttributes: { group: usageLedgers.group, resource: usageLedgers.plural, verb },
      },
    });
    assert.equal(recordAt(review, "status")["allowed"], false, verb);
  }
});

test("the page's price list is taken, and its commands run", async () => {
  const page = await readFile(join(import.meta.dirname, "../../../../docs/cost.md"), "utf8");
  const [, block = ""] = /^```yaml\n([^]*?)^```$/m.exec(page) ?? [];
  const ref = { namespace: "crossplane-system", name: "klutch-prices" };
  await client.delete(configMaps, ref);
  await client.create<DynamicObject>(configMaps, parseYaml(block) as DynamicObject);
  const commands = [...page.matchAll(/^ {4}klutch (cost .*)$/gm)].map(([, line = ""]) => line.split(" "));
  assert.equal(commands.length, 4);
  for (const command of commands) {
    const { code, said } = await run(command);
    assert.equal(code, 0, said);
  }
});
