/** `klutch status`, `clusters`, `offers` and `top` on real API servers. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  apiServiceBindings,
  type APIServiceExportTemplate,
  appClusters,
  apiServiceExportTemplates,
  clusterBindings,
} from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { startKlutchFixture } from "../testing/fixture.ts";
import type { Finished } from "../testing/run.ts";

const fixture = await startKlutchFixture();
after(() => fixture[Symbol.asyncDispose]());
const { provider, consumer, widgets, paths } = fixture;

const above = (...args: readonly string[]): Promise<Finished> =>
  fixture.run(args, { env: { KUBECONFIG: paths.controlPlane } });

async function report(status: object): Promise<void> {
  const ref = { namespace: "cluster-a", name: "cluster" };
  await provider.client.mergePatch(clusterBindings, ref, { status }, { subresource: "status" });
}
const lastTransitionTime = "2026-01-01T00:00:00Z";

/** An AppCluster as the backend leaves it when the keys in it are none. */
async function declareWithBadKeys(name: string): Promise<void> {
  await provider.client.create<DynamicObject>(appClusters, {
    apiVersion: `${appClusters.group}/${appClusters.version}`,
    kind: appClusters.kind,
    metadata: { name },
    spec: { identity: { issuer: "https://edge.example.org", jwks: "{}" } },
  });
  const conditions = [
    {
      type: "Identity",
      status: "False",
      severity: "Error",
      reason: "KeysInvalid",
      message: "no keys",
      lastTransitionTime,
    },
  ];
  await provider.client.mergePatch(
    appClusters,
    { name },
    { status: { conditions } },
    { subresource: "status" },
  );
}

test("status in an app cluster is doctor's findings on one screen, and its exit code says whether all is well", async () => {
  const sick = await fixture.run(["status"]);
  assert.equal(sick.code, 2, sick.stderr());
  assert.match(
    sick.stdout(),
    /Konnector\n {2}problem +Deployment klutch-bind\/konnector: 0 of 2 replicas[^]*\n\d problems\.\n$/,
  );
  assert.equal(sick.stderr(), "");
  await fixture.makeHealthy();
  const well = await fixture.run(["status"]);
  assert.equal(well.code, 0, well.stdout());
  assert.match(well.stdout(), /\nClaims\n {2}ok +2 claims, none unready\.\n[^]*\nAll is well\.\n$/);
  assert.ok(well.stdout().split("\n").length <= 24, "one screen");
  const json = await fixture.run(["status", "-o", "json"]);
  assert.equal((JSON.parse(json.stdout()) as { problems: number }).problems, 0);
  assert.match((await fixture.run(["status", "-o", "yaml"])).stdout(), /^problems: 0$/m);
  const conditions = [
    { type: "Ready", status: "False", reason: "Refused", message: "no such plan", lastTransitionTime },
  ];
  await consumer.client.mergePatch(
    widgets.type,
    { namespace: "app", name: "two" },
    { status: { conditions } },
    { subresource: "status" },
  );
  const unready = await fixture.run(["status"]);
  assert.equal(unready.code, 2);
  assert.match(unready.stdout(), /problem +widgets\.test\.klutch\.dev app\/two\n +Refused: no such plan\n/);
});

test("status, clusters and offers in a control plane: well, then the problems with the next command", async () => {
  const spec = { kubeconfigSecretRef: { name: "k", key: "kubeconfig" }, providerPrettyName: "p" };
  const metadata = {
    namespace: "cluster-a",
    name: "cluster",
    annotations: { "klutch.anynines.com/cluster-name": "prod-eu" },
  };
  await provider.client.create<DynamicObject>(clusterBindings, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "ClusterBinding",
    metadata,
    spec,
  });
  const lastHeartbeatTime = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  await report({
    lastHeartbeatTime,
    boundAPIs: 1,
    conditions: [{ type: "Healthy", status: "True", lastTransitionTime }],
  });
  await provider.client.create<APIServiceExportTemplate>(apiServiceExportTemplates, {
    apiVersion: "example-backend.klutch.anynines.com/v1alpha1",
    kind: "APIServiceExportTemplate",
    metadata: { namespace: "default", name: "widgets" },
    spec: { APIServiceSelector: { group: "test.klutch.dev", resource: "widgets" } },
  });
  const offer = async (status: string, reason: string): Promise<void> => {
    const conditions = ["Valid", "Offered"].map((type) => ({
      type,
      status,
      reason,
      message: "because",
      severity: status === "True" ? undefined : "Error",
      lastTransitionTime,
    }));
    const ref = { namespace: "default", name: "widgets" };
    await provider.client.mergePatch(
      apiServiceExportTemplates,
      ref,
      { status: { kind: "Widget", boundClusters: 1, conditions } },
      { subresource: "status" },
    );
  };
  await offer("True", "Fine");
  const well = await above("status");
  assert.equal(well.code, 0, well.stdout() + well.stderr());
  assert.match(
    well.stdout(),
    /^App clusters\n {2}ok +1 app cluster, all well\.\nOffers\n {2}ok +1 offer, all well\.\n/,
  );
  assert.doesNotMatch(well.stdout(), /Konnector/, "a control plane has no konnector to look for");
  const clusters = await above("clusters");
  assert.equal(clusters.code, 0, clusters.stderr());
  assert.match(
    clusters.stdout(),
    /^TENANT +CLUSTER +APIS +KONNECTOR +HEARTBEAT +STATE +PROBLEM\ncluster-a +prod-eu +1 +- +\d+s +well\n$/,
  );
  const wide = await above("clusters", "-o", "wide");
  assert.match(
    wide.stdout(),
    /^TENANT .* FOLLOWS +REGIONS +BROKERS +HEARTBEAT .*\ncluster-a .* - +- +\d+s +well\n$/,
  );
  assert.equal(
    (await above("offers", "-o", "name")).stdout(),
    "apiserviceexporttemplate.example-backend.klutch.anynines.com/widgets\n",
  );
  await report({
    conditions: [
      {
        type: "Healthy",
        status: "False",
        severity: "Error",
        reason: "HeartbeatTimeout",
        message: "silent",
        lastTransitionTime,
      },
    ],
  });
  await offer("False", "CRDNotFound");
  await declareWithBadKeys("edge-1");
  const sick = await above("status");
  assert.equal(sick.code, 2, sick.stderr());
  assert.match(
    sick.stdout(),
    /problem +cluster-a \(prod-eu\): Healthy HeartbeatTimeout: silent\n +in the app cluster: klutch doctor\nOffers\n {2}problem +widgets\.test\.klutch\.dev: Valid CRDNotFound: because\n +kubectl describe apiserviceexporttemplates widgets -n default\n[^]*App clusters that bind by themselves\n {2}problem +edge-1: Identity KeysInvalid: no keys\n +kubectl describe appclusters\S+ edge-1\n[^]*\n3 problems\.\n$/,
  );
  assert.equal(
    (await above("status", "-o", "name")).stdout(),
    "App clusters\nOffers\nApp clusters that bind by themselves\n",
  );
  assert.equal((await above("clusters")).code, 2);
  const offers = await above("offers", "-o", "json");
  assert.equal(offers.code, 2);
  const { items } = JSON.parse(offers.stdout()) as { items: readonly Readonly<Record<string, unknown>>[] };
  assert.deepEqual(
    [items[0]?.["api"], items[0]?.["valid"], items[0]?.["well"]],
    ["widgets.test.klutch.dev", "False", false],
  );
});

test("top counts each tenant's claims where they are, and says which columns there are", async () => {
  const top = await above("top", "-o", "wide");
  assert.equal(top.code, 0, top.stderr());
  assert.match(top.stdout(), /\ncluster-a +prod-eu +2 +0 +0 +1 +- +1 +\d+[sm]\n$/);
  const wrong = await above("top", "--sort-by", "size");
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr(), /Unknown --sort-by size: use claims, errors, notReady, lag/);
});

test("a cluster of another kind, and a person without rights, are told so; the exit code is 1", async () => {
  for (const name of ["clusters", "offers", "top"]) {
    const run = await fixture.run([name]);
    assert.equal(run.code, 1, name);
    assert.match(
      run.stderr(),
      /This cluster is no control plane of Klutch: .* in an app cluster: klutch status/,
    );
  }
  const tenant = { env: { KUBECONFIG: paths.tenant } };
  for (const name of ["status", "clusters", "top"]) {
    const run = await fixture.run([name], tenant);
    assert.equal(run.code, 1, name);
    assert.match(run.stderr(), /forbidden/, name);
    assert.equal(run.stdout(), "");
  }
});

test("offers --new lists in an app cluster what its konnector shows, and is refused elsewhere", async () => {
  const none = await fixture.run(["offers", "--new"]);
  assert.equal(none.stdout(), "No new APIs are announced to this app cluster.\n", none.stderr());
  const [bound] = (await consumer.client.list<DynamicObject>(apiServiceBindings)).items;
  assert.ok(bound !== undefined);
  const price = "small 25.00 EUR";
  const newAPIs = [{ group: "example.org", resource: "queues", kind: "Queue", price, asksPermissions: true }];
  const { namespace = "", name = "" } = bound.metadata;
  await consumer.client.mergePatch(
    apiServiceBindings,
    { namespace, name },
    { status: { newAPIs } },
    { subresource: "status" },
  );
  const listed = await fixture.run(["offers", "--new"]);
  assert.equal(listed.code, 0, listed.stderr());
  assert.match(listed.stdout(), /\nqueues\.example\.org +Queue .*asks/);
  const wide = await fixture.run(["offers", "--new", "-o", "wide"]);
  assert.match(wide.stdout(), /\nqueues\.example\.org .* asks +small 25\.00 EUR\b/);
  const wrong = await above("offers", "--new");
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr(), /No API is bound in this cluster .*in a control plane: klutch offers/);
});
