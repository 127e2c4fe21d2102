import assert from "node:assert/strict";
import { test } from "node:test";
import { backendClaimsRoleName, offerVerb } from "@klutch/api";
import { ApiError, type KubeClient } from "@klutch/kube";
import { clusterRoleBindings, clusterRoles, type PolicyRule, recordsAt, type Role } from "@klutch/kube-core";
import { ApiServerModel, VirtualClock } from "@klutch/kube-testing";
import type { ControllerContext } from "../controller-context.ts";
import { ensureRights } from "./rights.ts";

const { signal } = new AbortController();
const own = { apiGroups: ["a.org"], resources: ["as"] };
const offered: PolicyRule = { ...own, verbs: [offerVerb] };
const secretsClaim = { group: "", resource: "secrets", version: "v1", selector: { owner: "Provider" } };

/** A server whose policy refuses rights on Secrets, which no operator listed. */
async function contextOf(permissionClaims: readonly object[]): Promise<ControllerContext> {
  const server = new ApiServerModel({ clock: new VirtualClock(), uidSeed: 1 });
  for (const type of [clusterRoles, clusterRoleBindings])
    server.register({ type, statusSubresource: false, nameRule: () => true });
  const model = server.client({ clusterName: "control plane" });
  const list = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", rules: [offered] };
  await model.create(clusterRoles, { ...list, metadata: { name: backendClaimsRoleName } } as Role);
  const refusal = new ApiError({ status: 403, reason: "Forbidden", message: "no rights on secrets" });
  const apply: KubeClient["apply"] = (type, object, options) =>
    recordsAt(object, "rules").some((rule) => JSON.stringify(rule).includes("secrets"))
      ? Promise.reject(refusal)
      : model.apply(type, object, options);
  const spec = { group: "a.org", names: { plural: "as" }, permissionClaims };
  return {
    client: { ...model, apply },
    caches: {
      exports: { byIndex: () => [{ metadata: { name: "as.a.org" }, spec }] },
      namespaces: { get: () => undefined },
    },
    consumerScope: "Cluster",
    exportTemplates: { template: () => ({}) },
  } as unknown as ControllerContext;
}

test("a kind that no operator listed costs the tenant only the rights on it, and that is told", async () => {
  const context = await contextOf([secretsClaim]);
  assert.equal(await ensureRights(context, "cluster-a", { signal }), "partly");
  for (const name of ["klutch-binder-cluster-a", "klutch-binder-cluster-a:cluster-wide"]) {
    const { rules } = await context.client.get<Role>(clusterRoles, { name });
    assert.ok((rules ?? []).length > 0, name);
    assert.ok(!JSON.stringify(rules).includes("secrets"), name);
  }
});

test("rights on listed kinds are given whole", async () => {
  assert.equal(await ensureRights(await contextOf([]), "cluster-a", { signal }), "whole");
});
