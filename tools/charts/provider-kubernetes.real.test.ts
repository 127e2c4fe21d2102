/** Tests that the chart installs provider-kubernetes as the bundle does. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { recordAt, recordsAt, textAt } from "@klutch/kube-core";
import { providerKubernetes } from "../generate/provider-kubernetes.ts";
import { chartPath, type Rendered, startHelm } from "./testing/helm.ts";
import { atHome, minimal } from "./testing/values.ts";

const helm = await startHelm();
after(() => helm[Symbol.asyncDispose]());

const reference = "mirror.example.org:5000/crossplane/provider-kubernetes:v1.2.0";

/** The objects of provider-kubernetes in the chart with these values. */
async function rendered(values: object): Promise<readonly Rendered[]> {
  const all = await helm.template(chartPath("klutch"), { ...minimal.klutch, ...values }, ...atHome.klutch);
  return all.filter((each) => textAt(each, "metadata", "name") === "klutch-provider-kubernetes");
}

/** By kind, with the rules of a role by group: the chart and the bundle may order them in their own ways. */
function comparable(objects: readonly object[]): Readonly<Record<string, unknown>> {
  const entries = objects.map((each) => {
    const rules = recordsAt(each, "rules").map((rule) => [String(rule["apiGroups"]), rule] as const);
    return [textAt(each, "kind") ?? "", { ...each, rules: Object.fromEntries(rules) }] as const;
  });
  return JSON.parse(JSON.stringify(Object.fromEntries(entries))) as Readonly<Record<string, unknown>>;
}

test("provider-kubernetes comes from where a value says, as in the bundle, stays when the release goes, and is absent by default", async () => {
  assert.deepEqual(await rendered({}), []);
  const objects = await rendered({ providerKubernetes: { package: reference } });
  const bare = objects.map((each) => {
    const { annotations, ...metadata } = recordAt(each, "metadata");
    assert.deepEqual(annotations, { "helm.sh/resource-policy": "keep" }, String(each["kind"]));
    return { ...each, metadata };
  });
  assert.deepEqual(comparable(bare), comparable(providerKubernetes(reference)));
});

test("its package is pulled with the Secrets of the values, and its account is where Crossplane is", async () => {
  const values = {
    imagePullSecrets: [{ name: "registry" }],
    providerKubernetes: { package: reference, namespace: "upbound-system" },
  };
  const objects = comparable(await rendered(values));
  assert.deepEqual(recordAt(objects, "Provider", "spec")["packagePullSecrets"], values.imagePullSecrets);
  const [subject] = recordsAt(objects, "ClusterRoleBinding", "subjects");
  assert.equal(subject?.["namespace"], "upbound-system");
});

for (const wrong of [
  "provider-kubernetes",
  "registry.example.org/provider-kubernetes",
  "https://registry.example.org/provider-kubernetes:v1.2.0",
])
  test(`the package ${wrong} is refused by name, with what would be right`, async () => {
    const values = { ...minimal.klutch, providerKubernetes: { package: wrong } };
    const message = await helm.refusal(chartPath("klutch"), values, ...atHome.klutch);
    const start = `providerKubernetes.package: is "${wrong}", must be a package with its registry and a tag or digest`;
    assert.ok(message.includes(start), message);
  });
