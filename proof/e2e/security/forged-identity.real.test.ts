/** A member with a good credential and another member's name, on a real API server with a real backend. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type APIServiceExportRequest,
  apiServiceExportRequests,
  type APIServiceNamespace,
  apiServiceNamespaces,
  binderName,
} from "@klutch/api";
import { type DynamicObject, type KubeObject, namespaces, roleBindings, secrets } from "@klutch/kube-core";
import type { ClusterConfig, KubeClient } from "@klutch/kube";
import { secretObject, waitFor, leaseCluster } from "@klutch/kube-testing";
import {
  type BoundFixture,
  databases,
  databasesName,
  logIn,
  startBoundFixture,
  tenantConfig,
  tenants,
} from "./bound-fixture.ts";
import { forgeries, identityOf, reads } from "./forgeries.ts";
import { type RawAnswer, sendRaw } from "./raw-request.ts";
import { rightsOf } from "./rights.ts";

const canary = "the-password-of-the-other-tenant";
const member = tenants.a;
const victim = tenants.b;
/** Its service namespaces begin like those that the member may ask for. */
const neighbour = `${member}-xyz`;
const names = {
  own: member,
  ownService: `${member}-team`,
  foreign: victim,
  foreignService: `${victim}-team`,
};
const user = `system:serviceaccount:${member}:${binderName}`;

test("a member with the names of others is refused everything, before and after the backend judged what it forged", async () => {
  await using fixture = await startBoundFixture(leaseCluster);
  const { client } = fixture.controlPlane;
  await logIn(client, neighbour);
  for (const tenant of [member, victim, neighbour]) await bind(fixture, tenant);
  await plant(client);
  const config = await tenantConfig(fixture.controlPlane, member);
  const own = await fixture.clientOf(member);
  const rightful = await tenantConfig(fixture.controlPlane, victim);
  for (const [what, attempt] of Object.entries(reads(names))) {
    const { status } = await sendRaw(rightful, attempt);
    assert.equal(status, what === "names of all tenants" ? 403 : 200, `${what}, by its owner`);
  }
  const before = {
    rights: await foreignRights(fixture.controlPlane.config),
    objects: await foreignObjects(client),
  };
  await forgeOwnObjects(own);
  assert.deepEqual(await succeeded(config), []);
  await assertTokensOfListsHelpNobody(config);
  // Controllers may grant in between what was refused at first.
  await untilJudged(own);
  assert.deepEqual(await succeeded(config), []);
  await assertTokensOfListsHelpNobody(config);
  assert.deepEqual(await foreignRights(fixture.controlPlane.config), before.rights);
  assert.deepEqual(await foreignObjects(client), before.objects);
  const given = await own.list<APIServiceNamespace>(apiServiceNamespaces, { namespace: member });
  assert.deepEqual(
    Object.fromEntries(given.items.map(({ metadata, status }) => [metadata.name, status?.namespace])),
    // Its own under its own name, whatever was written on it; nothing of what others have.
    {
      team: `${member}-team`,
      honest: `${member}-honest`,
      marked: undefined,
      "xyz-team": undefined,
      taken: undefined,
      last: `${member}-last`,
    },
  );
});

/** Asks for the API and one namespace with the tenant's credential. */
async function bind({ clientOf, controlPlane }: BoundFixture, tenant: string): Promise<void> {
  const client = await clientOf(tenant);
  await client.create(apiServiceExportRequests, request(tenant, databasesName, "example.org", "databases"));
  await client.create(apiServiceNamespaces, mapping(tenant, "team"));
  const namespace = `${tenant}-team`;
  const metadata = { namespace, name: tenant === victim ? "precious" : "own" };
  await waitFor(`${tenant} to be bound`, () =>
    client.create<KubeObject>(databases, { apiVersion: "example.org/v1", kind: "Database", metadata }),
  );
  if (tenant !== member) return;
  const second = { namespace, name: "own-2" };
  await client.create<KubeObject>(databases, {
    apiVersion: "example.org/v1",
    kind: "Database",
    metadata: second,
  });
  await controlPlane.client.create(secrets, secretObject(namespace, "own", { password: "own" }));
}

/** Creates objects that the member must not get: Secrets, a namespace of the operator, and one that is marked as the victim's. */
async function plant(client: KubeClient): Promise<void> {
  await client.create(secrets, secretObject(names.foreignService, "precious", { password: canary }));
  await client.create(
    secrets,
    secretObject(names.foreign, "kubeconfig-of-the-victim", { kubeconfig: canary }),
  );
  const annotations = { "klutch.anynines.com/api-service-namespace": `${victim}/marked` };
  for (const metadata of [{ name: `${member}-taken` }, { name: `${member}-marked`, annotations }]) {
    await client.create<KubeObject>(namespaces, { apiVersion: "v1", kind: "Namespace", metadata });
  }
}

/** Writes the objects that the member may write in its own namespaces, forged as far as possible. The API server accepts them. */
async function forgeOwnObjects(own: KubeClient): Promise<void> {
  const annotations = identityOf(victim);
  for (const name of ["honest", "taken", "marked", "xyz-team"]) {
    const forged = mapping(member, name);
    await own.create<DynamicObject>(apiServiceNamespaces, {
      ...forged,
      metadata: { ...forged.metadata, annotations, labels: { tenant: victim } },
      status: { namespace: names.foreignService },
    });
  }
  // A deleted object must not take the namespace of the neighbour with it.
  await own.create(apiServiceNamespaces, mapping(member, "xyz"));
  await own.delete(apiServiceNamespaces, { namespace: member, name: "xyz" });
  const wanted = [
    ["secrets", "", "secrets"],
    ["everything", "*", "*"],
    ["bindings", "klutch.anynines.com", "clusterbindings"],
    ["roles", "rbac.authorization.k8s.io", "clusterroles"],
  ] as const;
  for (const [name, group, resource] of wanted) {
    const forged = request(member, name, group, resource);
    await own
      .create<DynamicObject>(apiServiceExportRequests, {
        ...forged,
        metadata: { ...forged.metadata, annotations },
        status: { phase: "Succeeded" },
      })
      // Refused by the schema is refused too.
      .catch(() => undefined);
  }
  await own.mergePatch(
    databases,
    { namespace: names.ownService, name: "own" },
    { metadata: { annotations } },
  );
}

/** Waits until the backend has answered each forged request, and a mapping that was made after all forged ones. */
async function untilJudged(own: KubeClient): Promise<void> {
  await own.create(apiServiceNamespaces, mapping(member, "last"));
  await waitFor("the backend to judge what was forged", async () => {
    const requests = await own.list<APIServiceExportRequest>(apiServiceExportRequests, { namespace: member });
    const last = await own.get<APIServiceNamespace>(apiServiceNamespaces, {
      namespace: member,
      name: "last",
    });
    const areAnswered = requests.items.every(({ status }) => (status?.conditions ?? []).length > 0);
    return areAnswered && last.status?.namespace !== undefined;
  });
}

/** The attempts that were not refused, or whose answer shows something of others. */
async function succeeded(config: ClusterConfig): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [what, attempt] of Object.entries(forgeries(names))) {
    const answer = await sendRaw(config, attempt);
    if (!isRefusal(answer)) found.push(`${what}: ${answer.status} ${answer.text.slice(0, 300)}`);
  }
  return found;
}

function isRefusal({ status, text }: RawAnswer): boolean {
  const showsOthers = text.includes(canary) || text.includes(Buffer.from(canary).toString("base64"));
  // A redirect leads to a path of which this list has the plain form.
  const isRefused = (status >= 300 && status < 500) || text.includes("without impersonating a user");
  return !showsOthers && isRefused;
}

/** The token with which a list goes on names a place in the store. */
async function assertTokensOfListsHelpNobody(config: ClusterConfig): Promise<void> {
  const list = (namespace: string): string =>
    `/apis/example.org/v1/namespaces/${namespace}/databases?limit=1`;
  const first = await sendRaw(config, { path: list(names.ownService) });
  const token = /"continue":"([^"]+)"/.exec(first.text)?.[1] ?? "";
  assert.notEqual(token, "", first.text);
  const elsewhere = await sendRaw(config, { path: `${list(names.foreignService)}&continue=${token}` });
  assert.equal(elsewhere.status, 403, elsewhere.text);
  const plain = Buffer.from(token, "base64url").toString("utf8");
  for (const start of [
    `../${names.foreignService}/`,
    `../../${names.foreignService}/precious`,
    "/",
    "\\u0000",
  ]) {
    const forged = Buffer.from(plain.replace(/"start":"[^"]*"/, `"start":"${start}"`)).toString("base64url");
    const answer = await sendRaw(config, { path: `${list(names.ownService)}&continue=${forged}` });
    assert.doesNotMatch(answer.text, /"name":"precious"/, `a token that starts at ${start}`);
  }
  const selected = await sendRaw(config, {
    path: `/apis/example.org/v1/namespaces/${names.ownService}/databases?fieldSelector=metadata.namespace%3D${names.foreignService}`,
  });
  assert.doesNotMatch(selected.text, /"name":"precious"/);
}

const foreignPlaces = [
  undefined,
  victim,
  `${victim}-team`,
  neighbour,
  `${neighbour}-team`,
  `${member}-taken`,
  `${member}-marked`,
  "klutch-backend",
  "kube-system",
  "default",
];

async function foreignRights(admin: ClusterConfig): Promise<Readonly<Record<string, unknown>>> {
  const found: Record<string, unknown> = {};
  for (const place of foreignPlaces) {
    const { rules } = await rightsOf(admin, user, place);
    found[place ?? "cluster-wide"] = rules.map((rule) => JSON.stringify(rule)).toSorted();
  }
  return found;
}

/** Everything of the others that must stay as it is. */
async function foreignObjects(client: KubeClient): Promise<readonly string[]> {
  const types = [namespaces, secrets, databases, roleBindings, apiServiceNamespaces];
  const lists = await Promise.all(types.map((type) => client.list(type)));
  const places = new Set(foreignPlaces);
  return lists
    .flatMap(({ items }, index) => items.map(({ metadata }) => ({ kind: types[index]?.kind, ...metadata })))
    .filter(({ kind, namespace, name }) => places.has(kind === "Namespace" ? name : namespace))
    .map(({ kind, namespace, name, uid, resourceVersion }) =>
      [kind, namespace, name, uid, resourceVersion].join(" "),
    )
    .toSorted();
}

function mapping(namespace: string, name: string): DynamicObject {
  const kind = "APIServiceNamespace";
  return { apiVersion: "klutch.anynines.com/v1alpha1", kind, metadata: { namespace, name }, spec: {} };
}

function request(namespace: string, name: string, group: string, resource: string): DynamicObject {
  const kind = "APIServiceExportRequest";
  const spec = { resources: [{ group, resource }] };
  return { apiVersion: "klutch.anynines.com/v1alpha1", kind, metadata: { namespace, name }, spec };
}
