import assert from "node:assert/strict";
import { test } from "node:test";
import { autoBindManifests, autoBindRole } from "@klutch/api";
import type { PolicyRule, Role } from "@klutch/kube-core";
import type { Grant } from "../app-cluster/rights.ts";
import { autoBindRights } from "./auto-bind.ts";

const scope = { groups: ["example.org"], except: ["odd.example.org"] };
const [role] = autoBindManifests(scope) as unknown as readonly Role[];
const all = new Map(role === undefined ? [] : [[`ClusterRole ${autoBindRole}`, role]]);
const grant = (rules: readonly PolicyRule[], name = `ClusterRole ${autoBindRole}`): Grant =>
  ({ role: name, rules, binding: "ClusterRoleBinding x" }) as Grant;

test("the role of the chart is no wildcard to complain of, and APIs of its groups need no role of their own", () => {
  const { groups, isOwn, serves } = autoBindRights(all);
  assert.deepEqual(groups, ["example.org"]);
  assert.equal(isOwn(grant(role?.rules ?? [])), true);
  assert.deepEqual(
    ["dbs.example.org", "odd.example.org", "dbs.other.org", "dbs.sub.example.org"].map(serves),
    [true, false, false, false],
  );
});

test("more rights in it, the same rights in another role, and a role that says nothing are told as ever", () => {
  const { isOwn } = autoBindRights(all);
  const more = { apiGroups: [""], resources: ["secrets"], verbs: ["get"] };
  assert.equal(isOwn(grant([...(role?.rules ?? []), more])), false);
  assert.equal(isOwn(grant([{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }])), false);
  assert.equal(isOwn(grant(role?.rules ?? [], "ClusterRole other")), false);
  for (const annotations of [{}, { "klutch.anynines.com/auto-bind": '{"groups":["*","apps"]}' }]) {
    const silent = new Map([[`ClusterRole ${autoBindRole}`, { ...role, metadata: { annotations } } as Role]]);
    const rights = autoBindRights(silent);
    assert.equal(rights.isOwn(grant(role?.rules ?? [])), false);
    assert.equal(rights.serves("dbs.example.org"), false);
  }
});
