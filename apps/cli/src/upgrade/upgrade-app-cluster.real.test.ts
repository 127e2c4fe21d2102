/** `klutch upgrade` in an app cluster: what of this release is missing comes, and nothing else changes. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { artefact, bindingRoleName, consumerNamespace, konnectorName, parseRegistry } from "@klutch/api";
import { clusterRoles, deployments, type DynamicObject, recordsAt, textAt } from "@klutch/kube-core";
import { startKlutchFixture } from "../testing/fixture.ts";

const fixture = await startKlutchFixture();
const { client } = fixture.consumer;
after(() => fixture[Symbol.asyncDispose]());
before(() => fixture.makeHealthy());

const konnector = { namespace: consumerNamespace, name: konnectorName };
const viewRole = { name: "klutch-bind:apiservicebindings.klutch.anynines.com:view" };

async function imageNow(): Promise<string | undefined> {
  const { spec } = await client.get<DynamicObject>(deployments, konnector);
  return textAt(recordsAt(spec, "template", "spec", "containers")[0], "image");
}

async function setImage(image: string): Promise<void> {
  const { spec } = await client.get<DynamicObject>(deployments, konnector);
  const containers = recordsAt(spec, "template", "spec", "containers").map((one) => ({ ...one, image }));
  await client.mergePatch(deployments, konnector, { spec: { template: { spec: { containers } } } });
}

test("a konnector whose release is not known keeps its image, roles and policies", async () => {
  await client.delete(clusterRoles, viewRole);
  const run = await fixture.run(["upgrade"]);
  assert.equal(run.code, 0, run.stdout() + run.stderr());
  assert.match(run.stderr(), /cannot be compared[^]*Its roles and policies stay as they are, too/);
  assert.equal(await imageNow(), "example.test/konnector:v1");
  assert.equal(await client.find(clusterRoles, viewRole), undefined);
});

test("a role that this release adds is written for a konnector that runs it already, and doctor has nothing to say then", async () => {
  await setImage(artefact("konnector"));
  assert.match(
    (await fixture.run(["doctor"])).stdout(),
    /ClusterRole klutch-bind:apiservicebindings\S+ is not as/,
  );
  const check = await fixture.run(["upgrade", "--check"]);
  assert.equal(check.code, 0, check.stdout());
  assert.equal(await client.find(clusterRoles, viewRole), undefined, "a check writes nothing");
  const run = await fixture.run(["upgrade"]);
  assert.equal(run.code, 0, run.stderr());
  assert.match(run.stderr(), /Konnector left as it is: it is already v/);
  assert.match(run.stderr(), /Writing ClusterRole klutch-bind:apiservicebindings\S+ as Klutch needs it/);
  assert.ok(await client.find(clusterRoles, viewRole));
  assert.equal((await fixture.run(["doctor"])).code, 0);
  const again = await fixture.run(["upgrade"]);
  assert.equal(again.code, 0);
  assert.match(again.stderr(), /Roles and policies are already those of v/);
});

test("rights that the konnector does not have are given only when the person says so", async () => {
  const role = { name: bindingRoleName(fixture.widgets.name) };
  const before = await client.get<DynamicObject>(clusterRoles, role);
  await client.mergePatch(clusterRoles, role, { rules: [] });
  const refused = await fixture.run(["upgrade"], { answers: ["no"] });
  assert.equal(refused.code, 0, refused.stderr());
  assert.match(refused.stderr(), /The konnector lacks rights, which were not given/);
  const left = await client.get<DynamicObject>(clusterRoles, role);
  assert.deepEqual(left["rules"] ?? [], [], "an API server may answer null for no rules");
  const given = await fixture.run(["upgrade", "--yes"]);
  assert.equal(given.code, 0, given.stderr());
  assert.deepEqual((await client.get<DynamicObject>(clusterRoles, role))["rules"], before["rules"]);
});

test("a konnector of another registry is replaced when that registry is named", async () => {
  const image = artefact("konnector");
  const registry = parseRegistry("registry.example.org/mirror");
  const run = await fixture.run(["upgrade", "--registry", registry]);
  assert.equal(run.code, 0, run.stdout() + run.stderr());
  assert.equal(await imageNow(), artefact("konnector", { registry }));
  assert.match(run.stderr(), /Installed konnector \S+ in namespace klutch-bind: it comes from /);
  assert.match(run.stderr(), /rollout status deployment konnector/);
  await setImage(image);
});

test("a konnector that Helm installed, and a control plane, are left to Helm", async () => {
  const labels = { "app.kubernetes.io/managed-by": "Helm" };
  await client.mergePatch(deployments, konnector, { metadata: { labels } });
  await client.delete(clusterRoles, viewRole);
  const run = await fixture.run(["upgrade"]);
  assert.equal(run.code, 1);
  assert.match(run.stderr(), /Helm installed this konnector/);
  assert.equal(await client.find(clusterRoles, viewRole), undefined);
  const above = await fixture.run(["upgrade"], { env: { KUBECONFIG: fixture.paths.controlPlane } });
  assert.equal(above.code, 1);
  assert.match(
    above.stderr(),
    /klutch upgrade writes in app clusters only, and this is a control plane|obstacle/,
  );
});
