/** Tests to which tenant a confirmed login leads, as far as the cache knows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ciClientAnnotation,
  clusterKeyAnnotation,
  identityAnnotation,
  issuerAnnotation,
  newClusterKey,
  membersAnnotation,
  publicKeyOf,
  renewalKeyAnnotation,
} from "@klutch/api";
import { systemClock } from "@klutch/kube";
import type { KubeObject } from "@klutch/kube-core";
import { fakeClient } from "@klutch/kube-testing";
import { UserError } from "../errors.ts";
import { defaultLimits } from "../limits.ts";
import { byClusterKey, byIdentity, clusterKeysOf, identitiesOf } from "./members.ts";
import { clusterNamespaceName, tenantFor, type TenantContext, type TenantIdentity } from "./tenant.ts";

const key = publicKeyOf(newClusterKey()) ?? "";
const ann: TenantIdentity = { issuer: "https://idp.example.org", subject: "ann", clusterId: "cluster-1" };
const indexes = { [byIdentity]: identitiesOf, [byClusterKey]: clusterKeysOf };

/** The cluster namespace that a person founded from a cluster. */
const tenant = (
  name: string,
  { subject, clusterId, issuer }: TenantIdentity,
  more: object = {},
): KubeObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: {
    name,
    annotations: { [identityAnnotation]: `${subject}#${clusterId}`, [issuerAnnotation]: issuer, ...more },
  },
});

/** A cache that shows these namespaces. */
function contextOf(tenants: readonly KubeObject[], limits = defaultLimits): TenantContext {
  const namespaceCache = {
    list: () => tenants.values(),
    byIndex: (index: keyof typeof indexes, value: string) =>
      tenants.filter((one) => indexes[index](one).includes(value)),
  } as never;
  return {
    client: fakeClient({}),
    namespaceCache,
    prefix: "p",
    prettyName: "Test",
    limits,
    clock: systemClock,
  };
}

const refused = (context: TenantContext, identity: TenantIdentity, message: RegExp): void =>
  assert.throws(
    () => tenantFor(context, identity),
    (error) => error instanceof UserError && message.test(error.message),
  );

test("a person without a tenant founds one, which has the name that their identity gives", () => {
  const expected = { name: clusterNamespaceName("p", ann), relation: "founds" };
  assert.deepEqual(tenantFor(contextOf([]), ann), expected);
});

test("the founder comes back to the tenant, and another person does not get it by its cluster id", () => {
  const context = contextOf([tenant("p-one", ann)]);
  assert.deepEqual(tenantFor(context, ann), { name: "p-one", relation: "member" });
  assert.equal(tenantFor(context, { ...ann, subject: "bob" }).relation, "founds");
  assert.equal(tenantFor(context, { ...ann, issuer: "https://other.example.org" }).relation, "founds");
});

test("who proved the key of the app cluster joins the tenant that has it, the older one of two", () => {
  const bob = { ...ann, subject: "bob" };
  const withKey = (name: string, creationTimestamp: string): KubeObject => {
    const made = tenant(name, ann, { [clusterKeyAnnotation]: key });
    return { ...made, metadata: { ...made.metadata, creationTimestamp } };
  };
  const context = contextOf([
    withKey("p-young", "2026-02-01T00:00:00Z"),
    withKey("p-old", "2026-01-01T00:00:00Z"),
  ]);
  assert.deepEqual(tenantFor(context, { ...bob, clusterKey: key }), { name: "p-old", relation: "joins" });
  assert.equal(tenantFor(context, bob).relation, "founds", "without the key");
});

test("a revoked tenant, another one of a revoked person, and one too many are refused", () => {
  const revoked = { [renewalKeyAnnotation]: "revoked", [clusterKeyAnnotation]: key };
  const context = contextOf([tenant("p-one", ann, revoked)]);
  refused(context, ann, /revoked the access of this app cluster \(tenant p-one\)/);
  refused(context, { ...ann, subject: "bob", clusterKey: key }, /of this app cluster \(tenant p-one\)/);
  refused(context, { ...ann, clusterId: "cluster-2" }, /of an app cluster of yours \(tenant p-one\)/);
  const full = contextOf([tenant("p-one", ann)], { ...defaultLimits, clustersPerUser: 1 });
  refused(full, { ...ann, clusterId: "cluster-2" }, /./);
});

const program: TenantIdentity = { ...ann, subject: "client:deploy", client: "deploy" };
const founded = { [ciClientAnnotation]: "deploy" };

test("a program comes back to its tenant, and another cluster id, client or issuer leads to another one", () => {
  const context = contextOf([tenant("p-ci", program, founded)]);
  assert.deepEqual(tenantFor(context, program), { name: "p-ci", relation: "member" });
  const others = [
    { ...program, clusterId: "cluster-2" },
    { ...program, subject: "client:other", client: "other" },
    { ...program, issuer: "https://other.example.org" },
  ];
  const names = others.map((other) => {
    const { name, relation } = tenantFor(context, other);
    assert.equal(relation, "founds");
    return name;
  });
  assert.equal(new Set([...names, clusterNamespaceName("p", program)]).size, 4);
});

test("a person whose subject is a program's does not get its tenant, and the program does not get theirs", () => {
  const { client: _client, ...double } = program;
  assert.equal(tenantFor(contextOf([tenant("p-ci", program, founded)]), double).relation, "founds");
  assert.equal(tenantFor(contextOf([tenant("p-person", double)]), program).relation, "founds");
  // The backend in Go records no issuer.
  const old = tenant("p-old", double, { [issuerAnnotation]: undefined });
  assert.equal(tenantFor(contextOf([old]), program).relation, "founds");
  const { issuer, subject } = double;
  const members = JSON.stringify([{ issuer, subject, since: "2026-01-01T00:00:00Z" }]);
  const joined = tenant("p-joined", ann, { [membersAnnotation]: members });
  assert.equal(tenantFor(contextOf([joined]), double).relation, "member");
  assert.equal(tenantFor(contextOf([joined]), program).relation, "founds");
  assert.notEqual(clusterNamespaceName("p", double), clusterNamespaceName("p", program));
});

test("revoking a program's tenant stops that program everywhere, and no person with its name", () => {
  const context = contextOf([tenant("p-ci", program, { ...founded, [renewalKeyAnnotation]: "revoked" })]);
  refused(context, program, /revoked the access of this app cluster \(tenant p-ci\)/);
  refused(context, { ...program, clusterId: "cluster-2" }, /tenant p-ci/);
  const { client: _client, ...double } = program;
  assert.equal(tenantFor(context, double).relation, "founds");
});
