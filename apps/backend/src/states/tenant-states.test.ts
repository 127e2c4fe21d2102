/** States of tenants as metrics: few series whatever strangers bind, limits by tenant, and credentials of those who are bound. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterBindings, serviceNamespaceAnnotation, tenants } from "@klutch/api";
import { type KubeObject, namespaces, type ResourceType } from "@klutch/kube-core";
import { ApiServerModel, VirtualClock } from "@klutch/kube-testing";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import { createCaches, informersOf } from "../caches.ts";
import type { ClaimState } from "../causes/claim-causes.ts";
import { AccountMissingError } from "../provisioning/account-missing.ts";
import type { CredentialIssuer, IssuedCredential } from "../provisioning/credentials.ts";
import { CredentialEnds } from "./credential-ends.ts";
import { createTenantStates } from "./tenant-states.ts";

const signal = new AbortController().signal;
const condition = (type: string, status: "True" | "False", reason?: string) => ({
  type,
  status,
  ...(reason === undefined ? {} : { reason }),
});

interface Stage extends AsyncDisposable {
  add(type: ResourceType, object: object): Promise<void>;
  /** Samples of one metric, each as `{labels} value`. */
  scrape(name: string): Promise<readonly string[]>;
  /** Returns the whole text. */
  text(): Promise<string>;
  readonly claims: ClaimState[];
  readonly issuer: CredentialIssuer;
}

/** `endsAt`: of every credential, in milliseconds. */
async function startStage(endsAt: number | undefined, mostTenants?: number): Promise<Stage> {
  const clock = new VirtualClock();
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  const client = server.client({ clusterName: "provider" });
  const caches = createCaches(client, silentLogger, { needsGrants: false });
  const used = [caches.bindings, caches.tenants, caches.namespaces];
  for (const { type } of used) server.register({ type, statusSubresource: true });
  for (const informer of used) informer.start();
  const ends = new CredentialEnds();
  const issued = async () => ({ kubeconfig: "", renewInMs: 1, endsAt });
  const metrics = createMetrics();
  const claims: ClaimState[] = [];
  const stop = new AbortController();
  const part = createTenantStates(metrics, { caches, ends, claims: () => claims, mostTenants });
  const running = part.start({ signal: stop.signal });
  const text = async (): Promise<string> => {
    // Informers that do not get their clock from here use the machine's.
    await new Promise((resolve) => setTimeout(resolve, 50));
    await clock.advance(2_000);
    return metrics.text();
  };
  return {
    text,
    claims,
    issuer: ends.remembering({ issue: issued, ensure: issued }),
    async add(type, object) {
      const { status, ...rest } = object as KubeObject & { readonly status?: object };
      const group = type.group === "" ? "" : `${type.group}/`;
      await client.create(type, { ...rest, apiVersion: `${group}${type.version}`, kind: type.kind });
      const { namespace, name = "" } = rest.metadata;
      const ref = namespace === undefined ? { name } : { namespace, name };
      if (status !== undefined) await client.mergePatch(type, ref, { status }, { subresource: "status" });
    },
    async scrape(name) {
      return (await text())
        .split("\n")
        .filter((line) => line.startsWith(`${name}{`))
        .map((line) => line.slice(name.length))
        .toSorted();
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the test ended"));
      await running;
      for (const informer of informersOf(caches)) await informer[Symbol.asyncDispose]();
    },
  };
}

const databases = { group: "example.org", resource: "databases" };
const bound = (namespace: string, ...conditions: readonly object[]): object => ({
  metadata: { namespace, name: "cluster" },
  spec: {},
  status: { conditions },
});
const tenant = (namespace: string, max: number, used: number, name = "tenant"): object => ({
  metadata: { namespace, name },
  spec: { limits: { objects: [{ ...databases, max }] } },
  status: { used: [{ ...databases, used }] },
});

test("app clusters, limits and credentials are shown by tenant", async () => {
  const end = Date.parse("2026-05-01T00:00:00Z");
  await using stage = await startStage(end);
  for (const name of ["one", "two", "three", "stranger"]) await stage.add(namespaces, { metadata: { name } });
  await stage.add(clusterBindings, bound("one", condition("Healthy", "True")));
  await stage.add(clusterBindings, bound("two", condition("Healthy", "False", "HeartbeatTimeout")));
  await stage.add(clusterBindings, bound("three"));
  await stage.add(tenants, tenant("one", 2, 2));
  await stage.add(tenants, tenant("two", 2, 1));
  await stage.add(tenants, tenant("three", 0, 0));
  // Neither of them counts: another name, and no app cluster.
  await stage.add(tenants, tenant("one", 1, 1, "forged"));
  await stage.add(tenants, tenant("stranger", 1, 1));
  assert.deepEqual(await stage.scrape("klutch_app_clusters"), [
    '{state="not_ready",reason=""} 1',
    '{state="not_ready",reason="HeartbeatTimeout"} 1',
    '{state="ready",reason=""} 1',
  ]);
  assert.deepEqual(await stage.scrape("klutch_tenant_objects"), [
    '{tenant="one",resource="databases.example.org"} 2',
    '{tenant="three",resource="databases.example.org"} 0',
    '{tenant="two",resource="databases.example.org"} 1',
  ]);
  assert.deepEqual(await stage.scrape("klutch_tenant_limits_reached"), [
    '{resource="databases.example.org"} 1',
  ]);
  assert.deepEqual(await stage.scrape("klutch_tenant_credential_expiration_timestamp_seconds"), []);
  await stage.issuer.ensure("one", { signal });
  await stage.issuer.ensure("stranger", { signal });
  assert.deepEqual(await stage.scrape("klutch_tenant_credential_expiration_timestamp_seconds"), [
    `{tenant="one"} ${end / 1000}`,
  ]);
});

test("a credential that does not end has no end", async () => {
  await using stage = await startStage(undefined);
  await stage.add(namespaces, { metadata: { name: "one" } });
  await stage.add(clusterBindings, bound("one"));
  await stage.issuer.ensure("one", { signal });
  assert.deepEqual(await stage.scrape("klutch_tenant_credential_expiration_timestamp_seconds"), []);
});

test("a credential that an operator revoked has no end, and one that cannot be read keeps its own", async () => {
  const ends = new CredentialEnds();
  const issued = { kubeconfig: "", renewInMs: 1, endsAt: 5_000 };
  let failure: Error | undefined;
  const issuer = ends.remembering({
    issue: async () => issued,
    ensure: async () => {
      if (failure !== undefined) throw failure;
      return issued;
    },
  });
  const shown = (): readonly number[] => [...ends.current(() => true).values()];
  await issuer.ensure("one", { signal });
  failure = new Error("the API server is away");
  await assert.rejects(issuer.ensure("one", { signal }), /away/);
  assert.deepEqual(shown(), [5_000]);
  failure = new AccountMissingError("one");
  await assert.rejects(issuer.ensure("one", { signal }), AccountMissingError);
  assert.deepEqual(shown(), []);
});

test("an end is unknown before it was checked, and each change of one is told once", async () => {
  const ends = new CredentialEnds();
  let endsAt: number | undefined = 5_000;
  const issued = async (): Promise<IssuedCredential> => ({ kubeconfig: "", renewInMs: 1, endsAt });
  const issuer = ends.remembering({ issue: issued, ensure: issued });
  const told: string[] = [];
  ends.onChange((namespace) => told.push(`${namespace} ${ends.endOf(namespace)}`));
  assert.equal(ends.endOf("one"), "unknown");
  await issuer.ensure("one", { signal });
  await issuer.ensure("one", { signal });
  endsAt = undefined;
  await issuer.ensure("one", { signal });
  assert.deepEqual(told, ["one 5000", "one undefined"]);
  ends.current(() => false);
  assert.equal(ends.endOf("one"), "unknown");
});

test("claims are counted for the tenant of their namespace; ten thousand names of plans are few series", async () => {
  await using stage = await startStage(undefined, 3);
  for (let index = 0; index < 10; index++) {
    const annotations = { [serviceNamespaceAnnotation]: `cluster-${index}/default` };
    await stage.add(namespaces, { metadata: { name: `cluster-${index}-default`, annotations } });
  }
  const claim = (namespace: string, plan: string): ClaimState => ({
    namespace,
    resource: "postgresqlinstances",
    plan,
    metadata: {},
    conditions: [condition("Ready", "False", "CannotCompose")],
  });
  stage.claims.push(
    claim("cluster-1-default", "single"),
    claim("kube-system", "single"),
    claim("gone", "single"),
  );
  assert.deepEqual(await stage.scrape("klutch_control_plane_claims"), [
    '{tenant="cluster-1",resource="postgresqlinstances",plan="single",state="failed",reason="CannotCompose"} 1',
  ]);
  for (let index = 0; index < 10_000; index++)
    stage.claims.push(claim(`cluster-${index % 10}-default`, `plan-${index}`));
  const lines = await stage.scrape("klutch_control_plane_claims");
  assert.ok(lines.length <= 4 * 51, `${lines.length}`);
  const numbers = lines.map((line) => Number(line.slice(line.lastIndexOf(" "))));
  assert.equal(
    numbers.reduce((sum, number) => sum + number, 0),
    10_001,
  );
  assert.ok(lines.some((line) => line.startsWith('{tenant="other",')));
});

test("a tenant has as many series as docs/monitoring.md says, whatever number of claims, and those beyond the first 50 share them", async () => {
  await using stage = await startStage(Date.parse("2026-05-01T00:00:00Z"));
  const claim = (namespace: string, resource: string, plan: string, isFailed: boolean): ClaimState => ({
    namespace,
    resource,
    plan,
    metadata: {},
    conditions: [
      isFailed ? condition("Ready", "False", "CannotCompose") : condition("Ready", "True", "Available"),
    ],
  });
  for (let index = 0; index < 60; index++) {
    const name = `klutch-${String(index).padStart(5, "0")}`;
    const mirror = `${name}-default`;
    await stage.add(namespaces, { metadata: { name } });
    const annotations = { [serviceNamespaceAnnotation]: `${name}/default` };
    await stage.add(namespaces, { metadata: { name: mirror, annotations } });
    await stage.add(clusterBindings, bound(name, condition("Healthy", "True")));
    const budget = { month: "2026-04", currency: "EUR", spent: "1.00", usedPercent: 10 };
    const limited = tenant(name, 9, 2) as { readonly status: object };
    const conditions = [condition("WithinBudget", "True")];
    await stage.add(tenants, { ...limited, status: { ...limited.status, budget, conditions } });
    await stage.issuer.ensure(name, { signal });
    for (const resource of ["postgresqlinstances", "servicebindings"])
      for (const plan of ["small", "big"])
        for (let count = 0; count < 20; count++) stage.claims.push(claim(mirror, resource, plan, false));
    stage.claims.push(claim(mirror, "postgresqlinstances", "small", true));
  }
  const lines = (await stage.text()).split("\n").filter((line) => line.includes('{tenant="'));
  const byTenant = Map.groupBy(lines, (line) => /tenant="([^"]*)"/.exec(line)?.[1] ?? "");
  assert.equal(byTenant.size, 51);
  for (const [name, own] of byTenant) {
    const counted = Map.groupBy(own, (line) => line.slice(0, line.indexOf("{")));
    assert.deepEqual(
      Object.fromEntries([...counted].map(([metric, { length }]) => [metric, length])),
      {
        klutch_control_plane_claims: 5,
        klutch_tenant_budget_used_ratio: 1,
        klutch_tenant_credential_expiration_timestamp_seconds: 1,
        klutch_tenant_object_limit: 1,
        klutch_tenant_objects: 1,
      },
      name,
    );
  }
  assert.ok(lines.join("\n").length / lines.length < 130, "bytes of a series");
});
