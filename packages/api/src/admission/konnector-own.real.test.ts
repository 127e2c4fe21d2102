/** Tests the agent's policy on its own objects, on bindings, and on CustomResourceDefinitions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isForbidden } from "@klutch/kube";
import {
  customResourceDefinitions,
  deployments,
  type DynamicObject,
  events,
  recordAt,
  recordsAt,
  type ResourceType,
  secrets,
} from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { apiServiceBindingCrd, konnectorManifests } from "../index.ts";
import * as resources from "../resources.ts";
import { konnectorScopeOf } from "./konnector-scope.ts";
import {
  crd,
  goneOwner,
  ownersRefused,
  secret,
  startConfinedAgent,
  widgets,
} from "./testing/confined-agent.ts";
import { refused } from "./testing/refused.ts";

const { admin, agent, confine } = await startConfinedAgent();
const gadgets: ResourceType = { ...widgets, plural: "gadgets", kind: "Gadget" };

await agent.create(secrets, secret("klutch-bind", "kubeconfig-abc"));
let attempts = 0;
await confine(
  konnectorScopeOf(["widgets", "leases"].map((plural) => ({ name: `${plural}.example.org`, claims: [] }))),
  () => agent.create(secrets, secret("team", `probe-${attempts++}`)).then(() => false, isForbidden),
);
await agent.create(customResourceDefinitions, crd(widgets));

test("the agent's own Secrets get no labels, annotations and owners that others act on", async () => {
  const ref = { namespace: "klutch-bind", name: "kubeconfig-abc" };
  const keys = { "replicator.v1.mittwald.de/replicate-to": "kube-system" };
  await refused(
    agent.mergePatch(secrets, ref, { metadata: { annotations: keys } }),
    /may not change labels and annotations of its own Secrets/,
  );
  await refused(
    agent.create(secrets, secret("klutch-bind", "kubeconfig-def", {}, keys)),
    /may not change labels and annotations of its own Secrets/,
  );
  await refused(
    agent.mergePatch(secrets, ref, { metadata: { ownerReferences: [goneOwner] } }),
    ownersRefused,
  );
  await agent.mergePatch(secrets, ref, { data: { kubeconfig: "Mg==" } });
  // Where the plugin lets credentials be renewed.
  const origin = { "klutch.anynines.com/backend-origin": "https://backend.example.org" };
  await admin.mergePatch(secrets, ref, { metadata: { annotations: origin } });
  for (const value of [null, "https://evil.example.org"])
    await refused(
      agent.mergePatch(secrets, ref, {
        metadata: { annotations: { "klutch.anynines.com/backend-origin": value } },
      }),
      /may not change labels and annotations of its own Secrets/,
    );
  const renewal = { "klutch.anynines.com/renewal-url": "https://backend.example.org/renew" };
  await agent.mergePatch(secrets, ref, { data: { kubeconfig: "MQ==" }, metadata: { annotations: renewal } });
  await agent.create(secrets, secret("klutch-bind", "klutch-cluster-key", { data: { a: "MQ==" } }));
  await refused(
    agent.mergePatch(secrets, { ...ref, name: "klutch-cluster-key" }, { data: { a: "Mg==" } }),
    /nor the key of the cluster/,
  );
});

test("events are the konnector's own", async () => {
  const event = (namespace: string, fields: object): DynamicObject => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace, generateName: "x." },
    involvedObject: { kind: "Pod", name: "x", namespace },
    reason: "Killing",
    type: "Normal",
    ...fields,
  });
  const foreign = /may not write events of other components/;
  await refused(agent.create(events, event("kube-system", { source: { component: "kubelet" } })), foreign);
  await refused(agent.create(events, event("team", { source: { component: "kubelet" } })), foreign);
  const kubelet = { reportingComponent: "kubelet", reportingInstance: "node", action: "Killing" };
  await refused(agent.create(events, event("team", kubelet)), foreign);
  const theirs = await admin.create(events, event("team", { source: { component: "kubelet" } }));
  const ref = { namespace: "team", name: theirs.metadata.name ?? "" };
  await refused(agent.mergePatch(events, ref, { message: "x" }), foreign);
  await refused(agent.mergePatch(events, ref, { source: { component: "konnector" } }), foreign);
  await agent.create(events, event("team", { source: { component: "konnector" } }));
});

test("a binding's answers stay a person's, and only CRDs of bound APIs are written", async () => {
  const binding = { namespace: "klutch-bind", name: "widgets.example.org" };
  await waitFor("bindings to be served", () =>
    admin
      .create<DynamicObject>(resources.apiServiceBindings, {
        apiVersion: "klutch.anynines.com/v1alpha1",
        kind: "APIServiceBinding",
        metadata: binding,
        spec: {
          kubeconfigSecretRef: { namespace: "klutch-bind", name: "kubeconfig-abc", key: "kubeconfig" },
        },
      })
      .then(
        () => true,
        () => false,
      ),
  );
  await agent.mergePatch(resources.apiServiceBindings, binding, {
    metadata: { finalizers: ["klutch.anynines.com/unbind"] },
  });
  const claim = { group: "", resource: "pods", version: "v1", state: "Accepted" };
  const changes = [
    { spec: { permissionClaims: [claim] } },
    { metadata: { labels: { "app.kubernetes.io/instance": "x" } } },
    { metadata: { annotations: { "klutch.anynines.com/unbind-policy": "Delete" } } },
    { metadata: { annotations: { "klutch.anynines.com/release-creations": "2026-11-29T12:00:00Z" } } },
  ];
  for (const body of changes)
    await refused(
      agent.mergePatch(resources.apiServiceBindings, binding, body),
      /may not change what a binding allows/,
    );
  for (const body of [{ ownerReferences: [goneOwner] }, { finalizers: ["example.org/stay"] }])
    await refused(agent.mergePatch(resources.apiServiceBindings, binding, { metadata: body }), ownersRefused);
  await agent.mergePatch(resources.apiServiceBindings, binding, {
    metadata: {
      annotations: {
        "klutch.anynines.com/provider-uid": "u",
        "klutch.anynines.com/provider-version": "100",
      },
    },
  });
  const crds = customResourceDefinitions;
  const reason = /only CustomResourceDefinitions of bound APIs/;
  await refused(agent.create(crds, crd(gadgets)), reason);
  await refused(
    agent.mergePatch(crds, { name: "widgets.example.org" }, { metadata: { ownerReferences: null } }),
    reason,
  );
  const webhook = {
    strategy: "Webhook",
    webhook: { conversionReviewVersions: ["v1"], clientConfig: { url: "https://127.0.0.1:1/" } },
  };
  await refused(
    agent.mergePatch(crds, { name: "widgets.example.org" }, { spec: { conversion: webhook } }),
    reason,
  );
  await agent.mergePatch(crds, { name: "widgets.example.org" }, { metadata: { labels: { a: "b" } } });
  await refused(
    agent.mergePatch(
      crds,
      { name: "widgets.example.org" },
      { metadata: { labels: { "app.kubernetes.io/instance": "x" } } },
    ),
    /words of built-in kinds, nor labels/,
  );
  const owners = crd(widgets).metadata.ownerReferences ?? [];
  await refused(
    agent.mergePatch(
      crds,
      { name: "widgets.example.org" },
      { metadata: { ownerReferences: [...owners, goneOwner] } },
    ),
    ownersRefused,
  );
});

test("an API's definition takes no word by which kubectl finds a built-in kind; one that it has already stays", async () => {
  const ref = { name: "widgets.example.org" };
  const rename = (names: object): Promise<unknown> =>
    agent.mergePatch(customResourceDefinitions, ref, { spec: { names } });
  const reason = /words of built-in kinds/;
  await refused(rename({ shortNames: ["wi", "secret"] }), reason);
  await refused(rename({ categories: ["pods"] }), reason);
  await refused(rename({ categories: ["all"] }), reason);
  await refused(rename({ singular: "deployment" }), reason);
  await refused(rename({ shortNames: ["vac"] }), reason);
  await refused(rename({ categories: ["endpointslices"] }), reason);
  await rename({ shortNames: ["wi"], categories: ["klutch"] });
  await admin.mergePatch(customResourceDefinitions, ref, { spec: { names: { shortNames: ["po"] } } });
  await rename({ categories: ["klutch", "managed"] });
});

test("an API that a person bound by a word of a built-in kind keeps the singular that follows, and gets no other", async () => {
  const leases: ResourceType = { ...widgets, plural: "leases", kind: "Lease" };
  const definition = crd(leases);
  const names = { ...recordAt(definition.spec, "names"), singular: "secret" };
  const forged = { ...definition, spec: { ...recordAt(definition.spec), names } };
  await refused(agent.create(customResourceDefinitions, forged), /words of built-in kinds/);
  await agent.create(customResourceDefinitions, definition);
});

test("the definition of bindings is not the agent's: neither its schema nor its conversion nor its creation", async () => {
  const ref = { name: "apiservicebindings.klutch.anynines.com" };
  const reason = /only CustomResourceDefinitions of bound APIs/;
  const [version] = recordsAt(apiServiceBindingCrd.spec, "versions");
  const forged = structuredClone(version) as {
    schema: { openAPIV3Schema: { properties: { spec: { properties: object } } } };
  };
  const claims = [{ group: "", resource: "secrets", version: "v1", state: "Accepted" }];
  const { properties } = forged.schema.openAPIV3Schema.properties.spec;
  const withDefault = {
    ...forged,
    schema: {
      openAPIV3Schema: {
        ...forged.schema.openAPIV3Schema,
        properties: {
          ...forged.schema.openAPIV3Schema.properties,
          spec: {
            ...forged.schema.openAPIV3Schema.properties.spec,
            properties: {
              ...properties,
              permissionClaims: { ...recordAt(properties, "permissionClaims"), default: claims },
            },
          },
        },
      },
    },
  };
  const bodies = [
    { spec: { versions: [withDefault] } },
    {
      spec: {
        conversion: {
          strategy: "Webhook",
          webhook: { conversionReviewVersions: ["v1"], clientConfig: { url: "https://127.0.0.1:1/" } },
        },
      },
    },
    { metadata: { annotations: { a: "b" } } },
    { spec: { names: { shortNames: ["x"] } } },
  ];
  for (const body of bodies) await refused(agent.mergePatch(customResourceDefinitions, ref, body), reason);
  await refused(agent.create(customResourceDefinitions, apiServiceBindingCrd), reason);
});

test("with an opt-in the agent changes the tag of its own image within its line, and nothing else of its Deployment", async () => {
  const repository = "registry.example.org/klutch/konnector";
  const ref = { namespace: "klutch-bind", name: "konnector" };
  const [deployment] = konnectorManifests({ image: `${repository}:v1.6.2`, args: ["--v=0"] }).filter(
    ({ kind }) => kind === "Deployment",
  );
  assert.ok(deployment);
  await admin.create(deployments, deployment);
  await admin.create(deployments, { ...deployment, metadata: { namespace: "klutch-bind", name: "other" } });
  const at = "/spec/template/spec/containers/0";
  const patch = (value: unknown, path: string = `${at}/image`, op = "replace"): Promise<unknown> =>
    agent.jsonPatch(deployments, ref, [{ op, path, value }]);
  await refused(patch(`${repository}:v1.6.3`), /may write only bound APIs/);
  const scope = { line: "minor", floor: "v1.6.2", repository } as const;
  await confine({ apis: [], claims: [], secretTypes: [], updates: scope }, () =>
    patch(`${repository}:v1.6.3`).then(
      () => true,
      (error: unknown) => !isForbidden(error),
    ),
  );
  for (const good of ["v1.6.10", "v1.7.0", "v1.6.2"]) await patch(`${repository}:${good}`);
  const only = /may change only the tag of its own image|may not add owners and finalizers/;
  const bad = [
    "v1.6.1",
    "v1.5.9",
    "v2.6.2",
    "v1.7.0-rc1",
    "v1.7.0@sha256:0",
    "latest",
    "v1.7",
    "v01.7.0",
    "v1.7.0 ",
  ];
  for (const tag of bad) await refused(patch(`${repository}:${tag}`), only);
  for (const image of [
    `${repository}-fork:v1.7.0`,
    `evil.example.org/konnector:v1.7.0`,
    `${repository}/x:v1.7.0`,
  ])
    await refused(patch(image), only);
  const others: readonly (readonly [string, unknown])[] = [
    [`${at}/args`, ["--kubeconfig=/tmp/x"]],
    [`${at}/command`, ["sh"]],
    [`${at}/securityContext/capabilities/add`, ["SYS_ADMIN"]],
    ["/spec/template/spec/hostNetwork", true],
    ["/spec/template/spec/serviceAccountName", "other"],
    ["/spec/template/spec/volumes", [{ name: "root", hostPath: { path: "/" } }]],
    ["/spec/template/spec/initContainers", [{ name: "x", image: "evil" }]],
    ["/spec/template/spec/containers/-", { name: "x", image: "evil" }],
    ["/spec/template/metadata/annotations", { "example.org/inject": "true" }],
    ["/spec/replicas", 50],
    ["/metadata/annotations", { "example.org/a": "b" }],
    ["/metadata/finalizers", ["example.org/a"]],
  ];
  for (const [path, value] of others) await refused(patch(value, path, "add"), only);
  const image = { op: "replace", path: `${at}/image`, value: `${repository}:v1.7.0` };
  await refused(
    agent.jsonPatch(deployments, { ...ref, name: "other" }, [image]),
    /may write only bound APIs/,
  );
  await refused(agent.delete(deployments, ref), /may write only bound APIs/);
  const found = await admin.get<DynamicObject>(deployments, ref);
  const [container] = recordsAt(recordAt(found, "spec", "template", "spec"), "containers");
  assert.equal(container?.["image"], `${repository}:v1.6.2`);
});
