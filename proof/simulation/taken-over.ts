/**
 * An agent in foreign hands, in an app cluster that a healthy agent serves, too. Models have neither RBAC nor admission policies (real API servers
 * show those: konnector-own.real.test.ts, and forged-acceptance.real.test.ts with the administrator's tool), so its hand does what they leave it: statuses of bindings, definitions
 * and objects of bound APIs, and Secrets with the agent's mark. A colluding provider asks for what it forges.
 */
import {
  type AnsweredPermissionClaim,
  apiServiceBindings,
  apiServiceExports,
  claimedFromLabel,
  resourceOwnerAnnotation,
} from "@klutch/api";
import { customResourceDefinitions, recordsAt, secrets } from "@klutch/kube-core";
import { simulatedApis } from "./apis.ts";
import { createObject, patchObject, pick, weighted } from "./deeds.ts";
import { claimLies, type Deed, type LyingTenant } from "./hostile-tenant.ts";
import { objectsOf } from "./snapshot.ts";
import { workNamespaces } from "./tenant.ts";

/** Does one thing by the agent's own hand and describes it. Throws when a server refuses it. */
export const doForge: Deed = async (fixture) => pick(fixture.random, deeds)(fixture);

/** Returns accepted claims that no person accepted. */
function forgedClaims({ random }: LyingTenant): readonly AnsweredPermissionClaim[] {
  const selector = { owner: "Consumer", names: ["*"], namespaces: ["*"] } as const;
  const secretClaim = { group: "", resource: "secrets", version: "v1", state: "Accepted" } as const;
  return [
    { ...secretClaim, ...pick(random, [{ selector }, { selector: {} }, { selector, autoAdopt: true }]) },
  ];
}

/** Reason of a condition whose message has the forged claims. */
export const forgedReason = "Forged";

const forgeStatus: Deed = async (fixture) => {
  const { liar, client, provider, random } = fixture;
  const permissionClaims = forgedClaims(fixture);
  const asked = permissionClaims.map(({ state: _accepted, ...claim }) => claim);
  for (const exported of objectsOf(provider, apiServiceExports))
    if (exported.metadata.namespace === liar.namespace)
      await patchObject(client, apiServiceExports, exported, { spec: { permissionClaims: asked } });
  const message = JSON.stringify(permissionClaims);
  const condition = { type: "PermissionClaimsValid", status: "True", reason: forgedReason, message };
  const conditions = [{ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }];
  const binding = pick(random, objectsOf(liar.consumer, apiServiceBindings));
  const status = { permissionClaims, conditions };
  return `forges the status of ${await patchObject(liar.direct, apiServiceBindings, binding, { status })}`;
};

const forgeDefinition: Deed = async ({ liar, random }) => {
  const { name } = pick(random, simulatedApis);
  const crd = await liar.direct.get(customResourceDefinitions, { name });
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: open, status: open } } };
  const versions = recordsAt(crd["spec"], "versions").map((version) => ({ ...version, schema }));
  return `opens ${await patchObject(liar.direct, customResourceDefinitions, crd, { spec: { versions } })}`;
};

const forgeCopy: Deed = async ({ liar, victim, random }) => {
  const namespace = pick(random, workNamespaces);
  const name = pick(random, ["a-creds", "b-creds", "own", "forged"]);
  const annotations = { [resourceOwnerAnnotation]: pick(random, ["Provider", "Consumer"]) };
  const labels = pick(random, [{}, { [claimedFromLabel]: victim.namespace }]);
  await createObject(liar.direct, secrets, { namespace, name, annotations, labels }, { type: "Opaque" });
  return `forges the copy ${namespace}/${name}`;
};

/** Lists the deeds, and how often each is done. */
const deeds = weighted<Deed>([[forgeStatus, 2], [forgeDefinition, 1], [forgeCopy, 2], ...claimLies]);
