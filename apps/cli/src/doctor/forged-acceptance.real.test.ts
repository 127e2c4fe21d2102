/** Plays a konnector that forges the acceptance of permission claims, and administrators whose tools do not believe it. On real API servers. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  acceptedClaimsAnnotation,
  apiServiceBindingCrd,
  apiServiceBindings,
  type APIServiceBinding,
  bindingRoleName,
  boundApiRoleManifests,
  consumerNamespace,
  konnectorName,
  konnectorPolicyName,
} from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  recordAt,
  recordsAt,
  type Role,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from "@klutch/kube-core";
import { createKubeClient, formatYaml, isForbidden } from "@klutch/kube";
import { accountConfig, isAllowed, roleBindingObject, roleObject, waitFor } from "@klutch/kube-testing";
import { confineKonnector } from "../app-cluster/confinement.ts";
import { applyManifests } from "../app-cluster/konnector.ts";
import { bindingOf } from "../bind/consumer.ts";
import { asConsumer } from "../testing/bound-pair.ts";
import { installByHand } from "../testing/fixture.ts";
import {
  answerRequests,
  createTenant,
  prepareConsumer,
  prepareProvider,
  requestFor,
} from "../testing/provider-side.ts";
import { startRun } from "../testing/run.ts";
import { scriptedRun } from "../testing/script.ts";
import { startTwoClusters } from "../testing/two-clusters.ts";

const clusters = await startTwoClusters();
after(() => clusters[Symbol.asyncDispose]());
const { consumer, provider, path, write } = clusters;
const { client } = consumer;
const gadgets = { group: "test.klutch.dev", resource: "gadgets" };
const name = "gadgets.test.klutch.dev";
const crd = { name: apiServiceBindingCrd.metadata.name };
const signal = new AbortController().signal;

await prepareProvider(provider);
await prepareConsumer(consumer);
await installByHand(client);
await write("config", consumer.kubeconfig);
await write("remote", await createTenant(provider, "cluster-a"));
await waitFor("the bindings", () =>
  client.create<APIServiceBinding>(apiServiceBindings, bindingOf(name, "kubeconfig-x", [])).then(
    () => true,
    () => false,
  ),
);
await applyManifests(asConsumer(client), boundApiRoleManifests(gadgets, []), signal);
await confineKonnector(scriptedRun().context, asConsumer(client));
const account = { namespace: consumerNamespace, name: konnectorName };
const agent = createKubeClient(await accountConfig(consumer, account), { userAgent: "test" });
after(() => agent[Symbol.asyncDispose]());

const run = (program: string, args: readonly string[], outside: object = {}) =>
  startRun(program, args, { env: { KUBECONFIG: path("config") }, ...outside }).done;
const mayList = (resource: string): Promise<boolean> =>
  isAllowed(client, `system:serviceaccount:${consumerNamespace}:${konnectorName}`, {
    verb: "list",
    group: "",
    resource,
  });
const forged = ["secrets", "persistentvolumeclaims"].map((resource) => ({
  group: "",
  resource,
  version: "v1",
  selector: { owner: "Provider" },
  state: "Accepted",
}));

/** The versions of the definition with another schema for `spec.permissionClaims`; undefined drops the field. */
function versionsWith(change: (field: object) => object | undefined): unknown {
  const [version = {}] = recordsAt(apiServiceBindingCrd.spec, "versions");
  const schema = recordAt(version, "schema", "openAPIV3Schema");
  const properties = recordAt(schema, "properties");
  const spec = recordAt(properties, "spec");
  const { permissionClaims, ...others } = recordAt(spec, "properties");
  const changed = change(recordAt(permissionClaims));
  const fields = changed === undefined ? others : { ...others, permissionClaims: changed };
  const openAPIV3Schema = { ...schema, properties: { ...properties, spec: { ...spec, properties: fields } } };
  return [{ ...version, schema: { openAPIV3Schema } }];
}

const dropField = (): Promise<unknown> =>
  agent.mergePatch(customResourceDefinitions, crd, { spec: { versions: versionsWith(() => undefined) } });

/** Forges as the agent: drops the field, stores the binding without it, and brings it back with a default. */
async function forge(): Promise<void> {
  await dropField();
  const ref = { namespace: consumerNamespace, name };
  const touch = { metadata: { annotations: { "klutch.anynines.com/provider-uid": "u" } } };
  await agent.mergePatch(apiServiceBindings, ref, touch);
  const withDefault = versionsWith((field) => ({ ...field, default: forged }));
  await agent.mergePatch(customResourceDefinitions, crd, { spec: { versions: withDefault } });
  await waitFor("the forged acceptance to be read", async () => {
    const { spec } = await client.get<APIServiceBinding>(apiServiceBindings, ref);
    return spec.permissionClaims?.length === forged.length;
  });
}

/** Returns whether the policy lets the agent change the definition of bindings. */
const mayChange = (): Promise<boolean> =>
  dropField().then(
    () => true,
    (error: unknown) => {
      assert.ok(isForbidden(error), String(error));
      return false;
    },
  );

/** Takes the policy away, once it is in force: the server obeys it, and its deletion, a moment later. */
async function asBefore(): Promise<void> {
  await waitFor("the policy to be in force", async () => !(await mayChange()));
  const ref = { name: konnectorPolicyName };
  await client.delete(validatingAdmissionPolicyBindings, ref);
  await client.delete(validatingAdmissionPolicies, ref);
  await waitFor("the policy to be gone", mayChange);
}

test("the agent may not change the definition of bindings: its role does not allow it, and with that of an earlier release the policy does not", async () => {
  await assert.rejects(dropField(), /cannot patch resource "customresourcedefinitions"/);
  const rule = {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    resourceNames: [crd.name],
    verbs: ["update", "patch"],
  };
  await client.create(clusterRoles, roleObject({ name: "earlier" }, [rule]));
  await client.create(
    clusterRoleBindings,
    roleBindingObject({ name: "earlier" }, { kind: "ClusterRole", name: "earlier" }, account),
  );
  await waitFor("the role and the policy to be in force", () =>
    dropField().then(
      () => assert.fail("the definition was changed"),
      (error: unknown) => /only CustomResourceDefinitions of bound APIs/.test(String(error)),
    ),
  );
});

test("a forged acceptance is a problem for doctor, and neither doctor --fix nor --fix --yes gives a right for it", async () => {
  await asBefore();
  await forge();
  const found = await run("klutch", ["doctor"]);
  assert.equal(found.code, 1);
  const text = found.stdout();
  assert.match(
    text,
    /problem +CustomResourceDefinition apiservicebindings\S+ is not as Klutch writes it: it has a default/,
  );
  assert.match(
    text,
    /problem +APIServiceBinding gadgets\S+ calls a permission claim on secrets accepted that no one accepted/,
  );
  assert.doesNotMatch(text, /missing: .* on (?:secrets|persistentvolumeclaims)/);
  const answers = ["yes", "yes", "yes"];
  for (const args of [
    ["doctor", "--fix", "--yes"],
    ["doctor", "--fix"],
  ]) {
    await run("klutch", args, { answers });
    assert.deepEqual([await mayList("secrets"), await mayList("persistentvolumeclaims")], [false, false]);
    const role = await client.get<Role>(clusterRoles, { name: bindingRoleName(name) });
    assert.equal(role.metadata.annotations?.[acceptedClaimsAnnotation], "[]");
    const policy = await client.get<DynamicObject>(validatingAdmissionPolicies, {
      name: konnectorPolicyName,
    });
    assert.doesNotMatch(JSON.stringify(policy.spec), /copy secrets/);
    const { spec } = await client.get<DynamicObject>(customResourceDefinitions, crd);
    assert.doesNotMatch(JSON.stringify(spec), /persistentvolumeclaims/);
    await asBefore();
    await forge();
  }
});

test("a claim that a person accepted by editing the binding is shown with its rights, and given only after a yes", async () => {
  const { spec } = await client.get<DynamicObject>(customResourceDefinitions, crd);
  const shipped = { ...recordAt(apiServiceBindingCrd.spec), conversion: recordAt(spec)["conversion"] };
  await client.mergePatch(customResourceDefinitions, crd, { spec: shipped });
  const ref = { namespace: consumerNamespace, name };
  const [claim] = forged;
  await client.mergePatch(apiServiceBindings, ref, { spec: { permissionClaims: [claim] } });
  const fix = (...answers: readonly string[]) => run("klutch", ["doctor", "--fix"], { answers });
  for (const silent of [await fix("no"), await run("klutch", ["doctor", "--fix", "--yes"])]) {
    assert.equal(silent.code, 1);
    assert.match(
      silent.stderr(),
      /If you do not know why, reject\.[^]*Right of the konnector: .*list.* on secrets[^]*Rejected\./,
    );
    assert.equal(await mayList("secrets"), false);
  }
  const given = await fix("yes");
  assert.doesNotMatch(given.stdout(), /after the repair[^]*no one accepted/);
  await waitFor("the right", () => mayList("secrets"));
  const policy = await client.get<DynamicObject>(validatingAdmissionPolicies, { name: konnectorPolicyName });
  assert.match(JSON.stringify(policy.spec), /copy secrets \*\/\*/);
  await client.mergePatch(apiServiceBindings, ref, { spec: { permissionClaims: [] } });
  await run("klutch", ["doctor", "--fix"]);
  assert.equal(
    await mayList("secrets"),
    false,
    "a right that the binding needs no longer goes without a question",
  );
});

test("binding another API, which installs the konnector again, gives no right for a forged acceptance either", async () => {
  await asBefore();
  await forge();
  await using _backend = answerRequests(provider, "cluster-a");
  const args = ["apiservice", "--remote-kubeconfig", path("remote"), "-f", "-", "--accept-permissions"];
  const bound = await run(
    "kubectl-bind",
    [...args, "--konnector-image=x.test/konnector:v2", "--timeout=20s"],
    {
      stdin: formatYaml(requestFor("things")),
    },
  );
  assert.equal(bound.code, 0, bound.stderr());
  assert.match(
    bound.stderr(),
    /lack rights of the konnector.*gadgets\.test\.klutch\.dev: persistentvolumeclaims, which no one accepted here.*klutch doctor --fix/,
  );
  assert.equal(await mayList("persistentvolumeclaims"), false);
  const { rules } = await client.get<Role>(clusterRoles, { name: bindingRoleName(name) });
  assert.doesNotMatch(JSON.stringify(rules), /secrets/);
  const policy = await client.get<DynamicObject>(validatingAdmissionPolicies, { name: konnectorPolicyName });
  assert.doesNotMatch(JSON.stringify(policy.spec), /copy persistentvolumeclaims/);
});
