import assert from "node:assert/strict";
import { test } from "node:test";
import {
  boundByAnnotation,
  type ClusterBinding,
  clusterNameAnnotation,
  type Grant,
  identityAnnotation,
  issuerAnnotation,
  membersAnnotation,
} from "@klutch/api";
import type { KubeObject } from "@klutch/kube-core";
import { firstSpecOf, peopleOf } from "./people.ts";

const issuer = "https://idp.example.org";
const since = "2026-01-02T00:00:00.000Z";

function place(annotations: Readonly<Record<string, string>>): KubeObject {
  const metadata = { name: "shop", creationTimestamp: "2026-01-01T00:00:00Z", annotations };
  return { apiVersion: "v1", kind: "Namespace", metadata };
}
function grant(
  subject: string,
  boundAt: string,
  more: { issuer?: string; displayName?: string } = {},
): Grant {
  const identity = { issuer, subject, user: `oidc:${subject}`, ...more };
  const spec = { identity, api: { resource: "databases" }, template: { namespace: "d", name: "t" }, boundAt };
  return { apiVersion: "klutch.anynines.com/v1alpha1", kind: "Grant", metadata: { name: "g" }, spec };
}
const ann = { [identityAnnotation]: "ann#abc123", [issuerAnnotation]: issuer };
const binding = (annotations: Readonly<Record<string, string>>): ClusterBinding => ({
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "ClusterBinding",
  metadata: { name: "cluster", annotations },
  spec: { kubeconfigSecretRef: { name: "kubeconfig", key: "kubeconfig" }, providerPrettyName: "Tests" },
});

test("the person the namespace was made for comes first, and each has the latest bind of their own", () => {
  const joined = [{ issuer, subject: "bob", since }];
  const grants = [
    grant("ann", "2026-01-03T00:00:00Z"),
    grant("ann", "2026-01-05T00:00:00Z", { displayName: "Ann" }),
    grant("ann", "2026-01-09T00:00:00Z", { issuer: "https://evil.example.org", displayName: "Mallory" }),
  ];
  const { members, memberCount } = peopleOf(
    place({ ...ann, [membersAnnotation]: JSON.stringify(joined) }),
    grants,
  );
  assert.equal(memberCount, 2);
  assert.deepEqual(members, [
    {
      issuer,
      subject: "ann",
      since: "2026-01-01T00:00:00Z",
      displayName: "Ann",
      lastBoundAt: "2026-01-05T00:00:00Z",
    },
    { issuer, subject: "bob", since },
  ]);
});

test("a Grant makes no one a member", () => {
  const { members } = peopleOf(place(ann), [grant("mallory", since)]);
  assert.deepEqual(
    members.map(({ subject }) => subject),
    ["ann"],
  );
});

test("at most 100 members are listed, and all are counted", () => {
  const many = Array.from({ length: 150 }, (_, index) => ({ issuer, subject: `p${index}`, since }));
  const found = peopleOf(place({ ...ann, [membersAnnotation]: JSON.stringify(many) }), []);
  assert.equal(found.members.length, 100);
  assert.equal(found.memberCount, 151);
});

test("a list of members that is no list counts as empty, and a namespace without a person has none", () => {
  assert.equal(peopleOf(place({ ...ann, [membersAnnotation]: "{" }), []).memberCount, 1);
  assert.deepEqual(peopleOf(place({}), []), { members: [], memberCount: 0 });
});

test("a name is one line, whatever the identity provider said", () => {
  const { members } = peopleOf(place(ann), [grant("ann", since, { displayName: "Ann\n\u001B[31m admin" })]);
  const name = members[0]?.displayName ?? "\n";
  assert.ok(!name.includes("\n") && !name.includes("\u001B"), name);
});

test("a new Tenant is called as its cluster, and belongs to the person who bound it; without names ids stand for them", () => {
  const names = { [clusterNameAnnotation]: "shop-prod", [boundByAnnotation]: "ann@example.org" };
  assert.deepEqual(firstSpecOf(place(ann), binding(names)), {
    displayName: "shop-prod",
    owner: "ann@example.org",
  });
  assert.deepEqual(firstSpecOf(place({ [identityAnnotation]: "a#b#abc123" }), binding({})), {
    displayName: "abc123",
    owner: "a#b",
  });
  assert.deepEqual(firstSpecOf(place({}), binding({})), { displayName: "shop" });
});
