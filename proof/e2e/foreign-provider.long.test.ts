/** docs/offer-an-api.md, "A provider of somebody else", word for word: a real Crossplane with provider-nop behind it, claims in a real app cluster. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { formatKubeconfig, formatYaml, loadKubeconfig, parseYamlDocuments } from "@klutch/kube";
import {
  clusterRoles,
  conditionsOf,
  type DynamicObject,
  findCondition,
  isRecord,
  listAt,
  recordAt,
  type ResourceType,
  secrets,
  textAt,
  valueAt,
} from "@klutch/kube-core";
import {
  missingForOwnNetwork,
  nopResources,
  roleObject,
  secretObject,
  startProviderNop,
  waitFor,
} from "@klutch/kube-testing";
import { run } from "@klutch/engines";
import { blocksIn, typed } from "@klutch/launcher";
import { compositionType } from "@klutch/services";
import { Claims } from "./claims.ts";
import { cliFilesIn, startOwnSandbox } from "./own-sandbox.ts";
import { explainFailures } from "./sandbox-ends.ts";

const heading = "A provider of somebody else";
const caches: ResourceType = {
  group: "platform.example.org",
  version: "v1",
  plural: "caches",
  kind: "Cache",
  namespaced: true,
};
const skip = (await missingForOwnNetwork()) ?? false;
const sandbox = await startOwnSandbox("foreign-provider");
explainFailures(sandbox);
const stack = new AsyncDisposableStack();
stack.use(sandbox);
after(() => stack.disposeAsync());
const { folder, root } = sandbox;
const { bin, kubeconfigs } = cliFilesIn(folder);
const appA = await sandbox.client("app-a");
const controlPlane = await sandbox.client("control-plane");
const shop = new Claims(appA, "shop");

const blocks = (await blocksIn("docs/offer-an-api.md")).filter((block) => block.heading === heading);
const [offered, inControlPlane, ordered, inAppCluster] = blocks.map(({ text }) => text);
assert.equal(blocks.length, 4, `the page has ${blocks.length} blocks under ${heading}`);
await writeFile(join(root, "caches.yaml"), offered ?? "");
await writeFile(join(root, "sessions.yaml"), ordered ?? "");

/** Types a block in a shell of a person at a cluster. */
function types(text: string, KUBECONFIG: string): Promise<string> {
  const PATH = [bin, process.env["PATH"]].join(delimiter);
  return typed(text, root, { PATH, HOME: root, KUBECONFIG });
}

/** Exit code and output of `klutch explain` for a claim of the namespace, without and with the control plane. */
async function explained(t: TestContext, name: string, withControlPlane = false): Promise<string> {
  const more = withControlPlane ? ["--control-plane-kubeconfig", kubeconfigs.controlPlane] : [];
  const args = ["explain", `caches.platform.example.org/${name}`, "-n", "shop", ...more];
  const env = { ...process.env, KUBECONFIG: kubeconfigs.appA };
  const text = await run(join(bin, "klutch"), args, { env }).then(
    ({ stdout }) => `0 ${stdout}`,
    (error: unknown) => `${String(valueAt(error, "code"))} ${String(valueAt(error, "stdout"))}`,
  );
  t.diagnostic(text);
  return text;
}

const spaceAbove = async (name: string): Promise<string> => {
  const { items } = await controlPlane.list<DynamicObject>(caches);
  return items.find(({ metadata }) => metadata.name === name)?.metadata.namespace ?? "";
};
const managedOf = async (name: string): Promise<DynamicObject> =>
  waitFor(`the managed resource of ${name}`, async () => {
    const { items } = await controlPlane.list<DynamicObject>(nopResources);
    return items.find((item) => valueAt(item, "spec", "forProvider", "fields", "owner") === name);
  });
const readySince = (object: DynamicObject): number =>
  Date.parse(textAt(findCondition(conditionsOf(object), "Ready"), "lastTransitionTime") ?? "");

test("an API of another provider is offered, bound, ordered, ready after its time, and its credentials arrive, by the page's own words", {
  skip,
}, async (t) => {
  // A provider that is installed as a package gets this from Crossplane.
  const role = roleObject({ name: "compose-nop" }, [
    { apiGroups: [nopResources.group], resources: ["*"], verbs: ["*"] },
  ]);
  const labels = { "rbac.crossplane.io/aggregate-to-crossplane": "true" };
  await controlPlane.create(clusterRoles, { ...role, metadata: { ...role.metadata, labels } });
  stack.use(
    await startProviderNop({
      client: controlPlane,
      kubeconfig: formatKubeconfig(await loadKubeconfig({ path: kubeconfigs.controlPlane })),
      clusterFolder: join(folder, "clusters", "control-plane"),
    }),
  );
  t.diagnostic(await types(inControlPlane ?? "", kubeconfigs.controlPlane));
  await waitFor("the template to be offered", async () => {
    const text = await types(
      "kubectl get apiserviceexporttemplates -n crossplane-system caches",
      kubeconfigs.controlPlane,
    );
    if (/^crossplane-system|^caches +Cache +True +True/m.test(text)) return text;
    throw new Error(text);
  });
  await sandbox.bind("caches.platform.example.org");
  const typedText = await types(inAppCluster ?? "", kubeconfigs.appA);
  t.diagnostic(typedText);
  assert.match(
    typedText,
    /cache\S+\/sessions condition met[^]*secret\/sessions-credentials condition met[^]*\nAll is well\.\n/,
  );
  assert.match(typedText, /\ndone +Secret +Secret\/sessions-credentials\n/);
  const claim = await shop.ready(caches, "sessions");
  const managed = await managedOf("sessions");
  const tookMs = readySince(claim) - Date.parse(managed.metadata.creationTimestamp ?? "");
  t.diagnostic(`ready ${tookMs} ms after the managed resource was made`);
  assert.ok(tookMs >= 9_000, `ready after ${tookMs} ms; the page's provider takes 10 s`);
  const secret = await shop.find(secrets, "sessions-credentials");
  assert.deepEqual(Object.keys(recordAt(secret, "data")).toSorted(), ["endpoint", "password", "username"]);
});

test("a change arrives at the other provider, and a value that the definition forbids is refused", {
  skip,
}, async () => {
  await shop.patch(caches, "sessions", { spec: { size: 4 } });
  await waitFor("the new size", async () =>
    valueAt(await managedOf("sessions"), "spec", "forProvider", "fields", "memoryGiB") === 4
      ? true
      : undefined,
  );
  await shop.says(caches, "sessions", "Ready", /^True /);
  await assert.rejects(shop.patch(caches, "sessions", { spec: { size: 65 } }), /spec\.size/);
});

test("a Secret of a type that the template does not name stays in the control plane", { skip }, async () => {
  const namespace = await spaceAbove("sessions");
  const foreign = { ...secretObject(namespace, "foreign", { token: "t" }), type: "example.org/token" };
  await controlPlane.create(secrets, foreign);
  // One that crosses, written later, shows that the first has been looked at.
  const later = {
    ...secretObject(namespace, "later", { endpoint: "e" }),
    type: "connection.crossplane.io/v1alpha1",
  };
  await controlPlane.create(secrets, later);
  await waitFor("the Secret that crosses", () => shop.find(secrets, "later"));
  assert.equal(await shop.find(secrets, "foreign"), undefined);
  for (const name of ["foreign", "later"]) await controlPlane.delete(secrets, { namespace, name });
  await shop.gone(secrets, "later");
});

/** Installs the page's Composition again under another name, whose managed resources get these conditions. */
async function compositionWith(name: string, conditionAfter: readonly object[]): Promise<void> {
  const found = parseYamlDocuments(offered ?? "").find(
    (one) => isRecord(one) && one["kind"] === "Composition",
  );
  const text = formatYaml(found as object);
  const made = parseYamlDocuments(text)[0] as DynamicObject;
  const [step] = listAt(made.spec, "pipeline");
  const forProvider = { ...recordAt(step, "input", "manifest", "spec", "forProvider"), conditionAfter };
  const manifest = { ...recordAt(step, "input", "manifest"), spec: { forProvider } };
  const input = { ...recordAt(step, "input"), manifest };
  await controlPlane.create(compositionType, {
    ...made,
    metadata: { name },
    spec: { ...recordAt(made.spec), pipeline: [{ ...recordAt(step), input }] },
  });
}

for (const [name, conditionAfter, words, cause] of [
  [
    "without-cause",
    [{ time: "0s", conditionType: "Ready", conditionStatus: "False", conditionReason: "Unavailable" }],
    /ClusterNopResource \S+ is not ready yet, and its provider gives no cause/,
    /it is not ready \(Unavailable\)/,
  ],
  [
    "without-ready",
    [{ time: "0s", conditionType: "Green", conditionStatus: "True", conditionReason: "Lamp" }],
    /ClusterNopResource \S+: its provider reports no condition Ready/,
    /its provider reports no condition Ready/,
  ],
] as const)
  test(`a provider that never becomes ready (${name}): the claim and explain name the managed resource, and since when`, async (t) => {
    await compositionWith(name, conditionAfter);
    await shop.create(caches, name, { size: 1, compositionRef: { name } });
    await shop.says(caches, name, "Ready", words);
    const here = await waitFor("the words in explain", async () => {
      const text = await explained(t, name);
      if (words.test(text)) return text;
      throw new Error(text);
    });
    assert.match(here, /^2 /);
    const managed = (await managedOf(name)).metadata.name ?? "";
    const seen = await explained(t, name, true);
    assert.match(
      seen,
      new RegExp(`^2 [^]*\\nwaiting +broker operation +\\d{4}-\\S+Z\\* +ClusterNopResource/${managed}: `),
    );
    assert.match(
      seen,
      new RegExp(
        `\\ncause +${cause.source}\\nwho +an operator can fix it\\nnext +.*kubectl describe clusternopresource\\.nop\\.crossplane\\.io ${managed}\\n`,
      ),
    );
    await shop.delete(caches, name);
    await controlPlane.delete(compositionType, { name });
  });

test("a deleted claim leaves nothing: no managed resource, no composite, no Secret in either cluster", {
  skip,
}, async () => {
  const namespace = await spaceAbove("sessions");
  const uid = valueAt((await managedOf("sessions")).spec, "writeConnectionSecretToRef", "name");
  await shop.delete(caches, "sessions");
  await shop.gone(secrets, "sessions-credentials");
  await waitFor(
    "the managed resources to be gone",
    async () => (await controlPlane.list(nopResources)).items.length === 0,
  );
  const ours = async (): Promise<readonly string[]> =>
    (
      await Promise.all(
        [namespace, "crossplane-system"].map(
          async (one) => (await controlPlane.list(secrets, { namespace: one })).items,
        ),
      )
    )
      .flat()
      .map(({ metadata }) => metadata.name ?? "")
      .filter((name) => name === uid || name === "sessions-credentials");
  await waitFor("the Secrets to be gone", async () => (await ours()).length === 0);
});
