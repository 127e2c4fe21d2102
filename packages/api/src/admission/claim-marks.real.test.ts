/** Tests the policy that marks new claims, on a real API server; a version that does not serve such policies skips them. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { discoverResource } from "@klutch/kube";
import {
  type DynamicObject,
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
  type ObjectMeta,
  type ResourceType,
} from "@klutch/kube-core";
import {
  applyPolicies,
  crdObject,
  installKinds,
  installRights,
  isAllowed,
  objectOfType,
  waitFor,
} from "@klutch/kube-testing";
import { boundApiRoleManifests, konnectorManifests } from "../konnector-manifests.ts";
import { boundAnnotation, claimMarksCondition, syncerFinalizer } from "../names.ts";
import { apiServiceBindings } from "../resources.ts";
import { claimMarks } from "./claim-marks.ts";
import { startConfinedAgent, widgets } from "./testing/confined-agent.ts";

const { admin } = await startConfinedAgent();
const isServed = (await discoverResource(admin, mutatingAdmissionPolicies)) !== undefined;
const api = "widgets.example.org";
const gadgets: ResourceType = { ...widgets, plural: "gadgets", kind: "Gadget" };
let made = 0;

/** Creates a claim and returns the metadata that it got. */
async function claim(metadata: ObjectMeta = {}, type = widgets): Promise<ObjectMeta> {
  const named = { ...metadata, namespace: "team", name: `claim-${made++}` };
  return (await admin.create<DynamicObject>(type, objectOfType(type, named))).metadata;
}
const isMarked = ({ finalizers, annotations }: ObjectMeta): boolean =>
  finalizers?.includes(syncerFinalizer) === true && annotations?.[boundAnnotation] === "true";

async function bind(namespace: string, name: string, finalizers: readonly string[] = []): Promise<void> {
  const spec = { kubeconfigSecretRef: { namespace, name: "kubeconfig", key: "kubeconfig" } };
  await admin.create(
    apiServiceBindings,
    objectOfType(apiServiceBindings, { namespace, name, finalizers }, { spec }),
  );
}

async function report(status: "True" | "False", name = api, namespace = "klutch-bind"): Promise<void> {
  const condition = { type: claimMarksCondition, status, lastTransitionTime: "2026-01-01T00:00:00Z" };
  const patch = { status: { conditions: [condition] } };
  await admin.mergePatch(apiServiceBindings, { namespace, name }, patch, { subresource: "status" });
}

describe("the policy that marks new claims", {
  skip: isServed ? false : "MutatingAdmissionPolicy v1 is not served",
}, () => {
  test("marks claims that are created while the API is synced, beside the marks of people, and nothing else", async () => {
    await installKinds(admin, [crdObject(widgets), crdObject(gadgets)]);
    await applyPolicies(admin, claimMarks.manifestsOf(api));
    await bind("klutch-bind", api);
    await bind("team", api);
    // A binding elsewhere says nothing about this one.
    await report("True", api, "team");
    assert.ok(!isMarked(await claim()));
    await report("True");
    await waitFor("new claims to be marked", async () => isMarked(await claim()));
    const theirs = await claim({ finalizers: ["example.org/theirs"], annotations: { note: "theirs" } });
    assert.deepEqual(theirs.finalizers, ["example.org/theirs", syncerFinalizer]);
    assert.deepEqual(theirs.annotations, { note: "theirs", [boundAnnotation]: "true" });
    assert.deepEqual((await claim({ finalizers: [syncerFinalizer] })).finalizers, [syncerFinalizer]);
    assert.ok(!isMarked(await claim({}, gadgets)));
  });

  test("marks nothing again that is changed: a released claim stays released", async () => {
    const { name = "" } = await claim();
    const ref = { namespace: "team", name };
    await admin.mergePatch(widgets, ref, { metadata: { finalizers: null } });
    const { metadata } = await admin.mergePatch<DynamicObject>(widgets, ref, { spec: { size: 2 } });
    assert.equal(metadata.finalizers, undefined);
  });

  test("refuses no claim of a kind that has just been made, because the konnector has not reported it", async () => {
    const sprockets: ResourceType = {
      ...widgets,
      group: "new.example.org",
      plural: "sprockets",
      kind: "Sprocket",
    };
    const name = "sprockets.new.example.org";
    await applyPolicies(admin, claimMarks.manifestsOf(name));
    await bind("klutch-bind", name);
    await installKinds(admin, [crdObject(sprockets)]);
    for (let attempt = 0; attempt < 20; attempt++) assert.ok(!isMarked(await claim({}, sprockets)));
  });

  test("stops when the konnector takes its report back, and when the binding is deleted", async () => {
    await report("False");
    await waitFor("claims without marks", async () => !isMarked(await claim()));
    await report("True");
    await waitFor("new claims to be marked", async () => isMarked(await claim()));
    const ref = { namespace: "klutch-bind", name: api };
    await admin.mergePatch(apiServiceBindings, ref, {
      metadata: { finalizers: ["klutch.anynines.com/unbind"] },
    });
    await admin.delete(apiServiceBindings, ref);
    await waitFor("claims without marks during the unbinding", async () => !isMarked(await claim()));
    await admin.mergePatch(apiServiceBindings, ref, { metadata: { finalizers: null } });
    await waitFor(
      "the binding to be gone",
      async () => (await admin.find(apiServiceBindings, ref)) === undefined,
    );
    assert.ok(!isMarked(await claim()));
  });
});

test("a captured konnector may neither write nor delete such a policy, which may change anything in a cluster", async () => {
  await installRights(admin, [
    ...konnectorManifests({ image: "" }),
    ...boundApiRoleManifests({ resource: "widgets", group: "example.org" }, []),
  ]);
  const account = "system:serviceaccount:klutch-bind:konnector";
  const may = (verb: string, resource: string, name: string): Promise<boolean> =>
    isAllowed(admin, account, { verb, group: mutatingAdmissionPolicies.group, resource, name });
  for (const { plural } of [mutatingAdmissionPolicies, mutatingAdmissionPolicyBindings])
    for (const verb of ["create", "update", "patch", "delete"])
      assert.ok(!(await may(verb, plural, claimMarks.nameOf(api))), `${verb} ${plural}`);
  const binding = {
    verb: "patch",
    group: "klutch.anynines.com",
    resource: "apiservicebindings/status",
    name: api,
  };
  assert.ok(await isAllowed(admin, account, binding), "the question is about the account that has rights");
});

test("a policy is known by its name and its label, and none is made for a name that no API has", () => {
  const [policy] = claimMarks.manifestsOf(api);
  assert.equal(claimMarks.apiOf(policy ?? { metadata: {} }), api);
  assert.equal(claimMarks.apiOf({ metadata: { name: claimMarks.nameOf(api) } }), undefined);
  assert.equal(claimMarks.apiOf({ metadata: { name: "theirs", labels: { app: "konnector" } } }), undefined);
  assert.throws(() => claimMarks.manifestsOf("widgets' || true"), RangeError);
  assert.deepEqual(claimMarks.manifestsOf(`${"a".repeat(60)}.${"b".repeat(185)}`.slice(0, 250)), []);
});
