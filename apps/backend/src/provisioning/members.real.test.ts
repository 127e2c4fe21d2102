/** Whose tenant a person gets, on a real API server: one for each app cluster whose key was proven, else one of their own. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  ciClientAnnotation,
  clusterBindings,
  clusterKeyAnnotation,
  identityAnnotation,
  membersAnnotation,
  newClusterKey,
  publicKeyOf,
} from "@klutch/api";
import { type KubeObject, namespaces } from "@klutch/kube-core";
import { leaseCluster, waitFor } from "@klutch/kube-testing";
import { confinedClient } from "../testing/confined.ts";
import { installProvider } from "../testing/provider.ts";
import { startProvisioning } from "../testing/provisioning.ts";
import { membersOf } from "./members.ts";
import { ensureTenant, type TenantIdentity } from "./tenant.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "members" }));
const { client } = cluster;
const confined = stack.use(await confinedClient(cluster));
await installProvider(client);
await waitFor("ClusterBindings to be served", () => client.list(clusterBindings));
const { tenant, signal } = await startProvisioning(stack, cluster, { client: confined });
const { namespaceCache: cache } = tenant;

const issuer = "https://idp.example.org";
const person = (subject: string, clusterId: string, more: Partial<TenantIdentity> = {}): TenantIdentity => ({
  issuer,
  subject,
  clusterId,
  ...more,
});

/** Logs in; afterwards the cache knows what was made. */
async function logIn(identity: TenantIdentity): Promise<string> {
  const name = await ensureTenant(tenant, identity, { signal });
  const { metadata } = await client.get<KubeObject>(namespaces, { name });
  await waitFor("the cache", () => cache.get(name)?.metadata.resourceVersion === metadata.resourceVersion);
  return name;
}
const newKey = (): string => publicKeyOf(newClusterKey()) ?? "";

test("two people who prove the same app cluster share its tenant, and the second one is listed", async () => {
  const clusterKey = newKey();
  const first = await logIn(person("anna", "abc123", { clusterKey }));
  assert.equal(await logIn(person("ben", "abc123", { clusterKey })), first);
  const namespace = await client.get<KubeObject>(namespaces, { name: first });
  assert.equal(namespace.metadata.annotations?.[identityAnnotation], "anna#abc123");
  const [member, ...others] = membersOf(namespace);
  assert.deepEqual([member?.issuer, member?.subject, others.length], [issuer, "ben", 0]);
  assert.match(member?.since ?? "", /^\d{4}-\d\d-\d\dT/);
});

test("two people who log in at the same time for a new app cluster get one tenant", async () => {
  const clusterKey = newKey();
  const people = ["clara", "dora"].map((subject) => person(subject, "new111", { clusterKey }));
  const names = await Promise.all(people.map((identity) => ensureTenant(tenant, identity, { signal })));
  assert.equal(new Set(names).size, 1);
});

test("a member is known again without a proof, as an existing plugin logs in", async () => {
  const clusterKey = newKey();
  const shared = await logIn(person("emil", "mem123", { clusterKey }));
  await logIn(person("frieda", "mem123", { clusterKey }));
  assert.equal(await logIn(person("frieda", "mem123")), shared);
  assert.equal(await logIn(person("emil", "mem123")), shared);
});

test("a tenant that exists stays its person's, and others join after that person has proven the key", async () => {
  const name = "cluster-existing";
  const annotations = { [identityAnnotation]: "gerd#old123" };
  const metadata = { name, annotations };
  await client.create<KubeObject>(namespaces, { apiVersion: "v1", kind: "Namespace", metadata });
  await waitFor("the cache", () => cache.get(name));
  assert.equal(await logIn(person("gerd", "old123")), name);
  const clusterKey = newKey();
  assert.equal(await logIn(person("gerd", "old123", { clusterKey })), name);
  const live = await client.get<KubeObject>(namespaces, { name });
  assert.equal(live.metadata.annotations?.[clusterKeyAnnotation], clusterKey);
  assert.equal(await logIn(person("hanna", "old123", { clusterKey })), name);
});

test("forged identities never reach another person's tenant", async () => {
  const clusterKey = newKey();
  const victim = await logIn(person("ida", "cluster1", { clusterKey }));
  await logIn(person("jan", "cluster1", { clusterKey }));
  const attempts: Readonly<Record<string, TenantIdentity>> = {
    "the cluster id of another without a proof": person("mallory", "cluster1"),
    "the cluster id of another with a custom key": person("mallory", "cluster1", {
      clusterKey: newKey(),
    }),
    "the same subject at another issuer": { ...person("ida", "cluster1"), issuer: "https://evil.example" },
    "a member's subject at another issuer": { ...person("jan", "cluster1"), issuer: "https://evil.example" },
    "a longer cluster id": person("ida", "cluster1xyz"),
    "a shorter cluster id": person("ida", "cluster"),
    "a subject that ends like an identity": person("ida#cluster1", "cluster1"),
    "a subject with the cluster id of another in it": person("ida#cluster1", "x"),
    "a member of this tenant from another cluster": person("jan", "cluster2"),
  };
  for (const [what, identity] of Object.entries(attempts)) {
    assert.notEqual(await logIn(identity), victim, what);
  }
  const { metadata } = await client.get<KubeObject>(namespaces, { name: victim });
  assert.deepEqual(
    membersOf({ metadata }).map(({ subject }) => subject),
    ["jan"],
  );
});

test("who was removed from the list, or whose key was removed, does not come in again with the cluster id alone", async () => {
  const clusterKey = newKey();
  const shared = await logIn(person("karl", "rem123", { clusterKey }));
  await logIn(person("lena", "rem123", { clusterKey }));
  const annotations = { [membersAnnotation]: null, [clusterKeyAnnotation]: null };
  await client.mergePatch(namespaces, { name: shared }, { metadata: { annotations } });
  await waitFor("the cache", () => {
    const cached = cache.get(shared)?.metadata.annotations;
    return cached !== undefined && cached[membersAnnotation] === undefined;
  });
  assert.notEqual(await logIn(person("lena", "rem123")), shared);
  assert.equal(await logIn(person("karl", "rem123")), shared);
});

test("a program founds a tenant that carries its client id, and five at once found one", async () => {
  const program = person("client:deploy", "abc123", { client: "deploy" });
  const names = await Promise.all(Array.from({ length: 5 }, () => ensureTenant(tenant, program, { signal })));
  assert.equal(new Set(names).size, 1);
  assert.equal(await logIn(program), names[0]);
  const { metadata } = await client.get<KubeObject>(namespaces, { name: names[0] ?? "" });
  assert.equal(metadata.annotations?.[ciClientAnnotation], "deploy");
  assert.notEqual(await logIn(person("client:deploy", "abc123")), names[0]);
});
