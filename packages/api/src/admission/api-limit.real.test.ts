/** Tests the policy that tells the limit of a bound API, on a real API server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "@klutch/kube";
import type { DynamicObject, ResourceType } from "@klutch/kube-core";
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
import { limitWords } from "../object-limit.ts";
import { apiServiceBindings } from "../resources.ts";
import { apiLimit } from "./api-limit.ts";
import { startConfinedAgent, widgets } from "./testing/confined-agent.ts";

const { admin, agent } = await startConfinedAgent();
const api = "widgets.example.org";
const gadgets: ResourceType = { ...widgets, plural: "gadgets", kind: "Gadget" };
const ref = { namespace: "klutch-bind", name: api };
let made = 0;

/** Creates a claim and returns the server's refusal; undefined if it took the claim. */
async function refusal(type = widgets, client = admin): Promise<string | undefined> {
  const claim = objectOfType(type, { namespace: "team", name: `claim-${made++}` });
  try {
    await client.create<DynamicObject>(type, claim);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof ApiError && error.status === 403, String(error));
    return error.message;
  }
}

const show = (limit: object | null, name = api, namespace = ref.namespace): Promise<unknown> =>
  admin.mergePatch(apiServiceBindings, { namespace, name }, { status: { limit } }, { subresource: "status" });
const untilRefused = (words: string): Promise<unknown> =>
  waitFor(`a refusal with ${words}`, async () => (await refusal())?.endsWith(`denied request: ${words}`));
const untilTaken = (): Promise<unknown> =>
  waitFor("a claim to be taken", async () => (await refusal()) === undefined);

async function bind(namespace: string): Promise<void> {
  const spec = { kubeconfigSecretRef: { namespace, name: "kubeconfig", key: "kubeconfig" } };
  await admin.create(
    apiServiceBindings,
    objectOfType(apiServiceBindings, { namespace, name: api }, { spec }),
  );
}

test("refuses a new claim in the words of the limit, and takes claims again once there is room", async () => {
  await installKinds(admin, [crdObject(widgets), crdObject(gadgets)]);
  await applyPolicies(admin, apiLimit.manifestsOf(api));
  assert.equal(await refusal(), undefined, "no binding");
  await bind(ref.namespace);
  await bind("team");
  assert.equal(await refusal(), undefined, "no limit");
  const limit = { max: 3, used: 3, contact: "Ann <ann@example.org>" };
  await show(limit, api, "team");
  assert.equal(await refusal(), undefined, "the limit of a binding elsewhere");
  await show({ ...limit, used: 2 });
  await untilTaken();
  await show(limit);
  const words = "this cluster may have 3 widgets, has 3; ask Ann <ann@example.org>";
  assert.equal(limitWords(limit, "widgets"), words, "the konnector says the same");
  await untilRefused(words);
  assert.equal(await refusal(gadgets), undefined, "another API");
  await show({ max: 3, used: 4, contact: null });
  await untilRefused("this cluster may have 3 widgets, has 4");
  await show({ max: 5 });
  await untilTaken();
  await show({ max: 0, used: 0 });
  await untilRefused("this cluster may have 0 widgets, has 0");
});

test("leaves claims that exist alone: edits, status and deletions go on", async () => {
  await show(null);
  await untilTaken();
  const name = `claim-${made - 1}`;
  await show({ max: 0, used: 1 });
  await untilRefused("this cluster may have 0 widgets, has 1");
  const claim = { namespace: "team", name };
  const labelled = (size: string): object => ({ metadata: { labels: { size } } });
  await admin.mergePatch(widgets, claim, labelled("small"));
  const applied = objectOfType(widgets, { ...claim, labels: { size: "large" } });
  await admin.apply(widgets, applied, { fieldManager: "person", force: true });
  assert.ok(await admin.delete(widgets, claim));
});

test("does not keep the konnector from making claims for objects that the provider has", async () => {
  await untilRefused("this cluster may have 0 widgets, has 1");
  assert.equal(await refusal(widgets, agent), undefined);
});

test("words with line breaks, which the server does not take as a message, are left out and the claim is refused all the same", async () => {
  await show({ contact: "ann\nIgnore the above" });
  await untilRefused("this cluster may have no more widgets");
});

test("refuses nothing while the binding is being deleted, nor without it", async () => {
  await admin.mergePatch(apiServiceBindings, ref, {
    metadata: { finalizers: ["klutch.anynines.com/unbind"] },
  });
  await admin.delete(apiServiceBindings, ref);
  await untilTaken();
  await admin.mergePatch(apiServiceBindings, ref, { metadata: { finalizers: null } });
  await waitFor(
    "the binding to be gone",
    async () => (await admin.find(apiServiceBindings, ref)) === undefined,
  );
  assert.equal(await refusal(), undefined);
});

test("a captured konnector may not write such a policy", async () => {
  await installRights(admin, [
    ...konnectorManifests({ image: "" }),
    ...boundApiRoleManifests({ resource: "widgets", group: "example.org" }, []),
  ]);
  const account = "system:serviceaccount:klutch-bind:konnector";
  for (const resource of ["validatingadmissionpolicies", "validatingadmissionpolicybindings"])
    for (const verb of ["create", "update", "patch", "delete"]) {
      const asked = { verb, group: "admissionregistration.k8s.io", resource, name: apiLimit.nameOf(api) };
      assert.ok(!(await isAllowed(admin, account, asked)), `${verb} ${resource}`);
    }
});

test("a policy is known by its name and its label, and none is made for a name that no API has", () => {
  const [policy] = apiLimit.manifestsOf(api);
  assert.equal(apiLimit.apiOf(policy ?? { metadata: {} }), api);
  assert.equal(apiLimit.apiOf({ metadata: { name: apiLimit.nameOf(api) } }), undefined);
  assert.throws(() => apiLimit.manifestsOf("widgets' || true"), RangeError);
  assert.deepEqual(apiLimit.manifestsOf(`${"a".repeat(60)}.${"b".repeat(185)}`.slice(0, 250)), []);
});
