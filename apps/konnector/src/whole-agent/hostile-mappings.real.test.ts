/** The konnector between two real API servers, of which the provider says what it must not: mappings, labels, Secret types. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  adoptedAnnotation,
  apiServiceNamespaces,
  bindGroup,
  clusterBindingName,
  clusterBindings,
  consumerNamespace,
  kubeconfigKey,
} from "@klutch/api";
import { type DynamicObject, events, namespaces, secrets, textAt } from "@klutch/kube-core";
import { secretObject, waitFor } from "@klutch/kube-testing";
import { serviceNamespace } from "../testing/pair.ts";
import { tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";
import { bindApi, startKonnector, testApi, widget } from "../testing/fixture.ts";

const widgets = testApi("widgets", "Widget");
// The side that has a Secret owns it: both directions are open.
const claim = {
  group: "",
  resource: "secrets",
  version: "v1",
  selector: { names: ["*"], namespaces: ["*"] },
} as const;
const fixture = await startTenantFixture({ exported: [{ ...widgets, claims: [claim] }], clusterWide: true });
const { consumer, provider, kubeconfig, cleanup } = fixture;
const { onProvider, onConsumer, untilReady, create, createSynced } = fixture;
cleanup.use(await startKonnector(fixture, { timing: { providerObjectsLimit: 5 } }));

const map = (name: string): Promise<DynamicObject> =>
  provider.client.create<DynamicObject>(apiServiceNamespaces, {
    apiVersion: `${bindGroup}/v1alpha1`,
    kind: apiServiceNamespaces.kind,
    metadata: { namespace: tenantNamespace, name },
    spec: {},
  });
const answered = (name: string): Promise<unknown> =>
  waitFor(`the answer for ${name}`, async () => {
    const ref = { namespace: tenantNamespace, name };
    return (await provider.client.get<DynamicObject>(apiServiceNamespaces, ref)).status;
  });
const answerWith = (name: string, namespace: string): Promise<unknown> =>
  provider.client.mergePatch(
    apiServiceNamespaces,
    { namespace: tenantNamespace, name },
    { status: { namespace } },
    { subresource: "status" },
  );
const makeNamespace = async (client: typeof consumer.client, name: string): Promise<void> => {
  await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
};
const mirrorOf = (name: string): string => `${tenantNamespace}-${name}`;
const secretOnProvider = (namespace: string, name: string): Promise<unknown> =>
  provider.client.find(secrets, { namespace, name });
const secretOnConsumer = (namespace: string, name: string): Promise<DynamicObject | undefined> =>
  consumer.client.find<DynamicObject>(secrets, { namespace, name });
/** Everything that was done before has been looked at when this one has arrived. */
const untilSeen = async (name: string): Promise<void> => {
  await provider.client.create(secrets, secretObject(serviceNamespace, name, { a: "1" }));
  await waitFor(`Secret ${name}`, () => onConsumer(secrets, name));
  await provider.client.delete(secrets, { namespace: serviceNamespace, name });
  await waitFor(`Secret ${name} to go`, async () => (await onConsumer(secrets, name)) === undefined);
};
const eventsAbout = async (reason: string): Promise<readonly DynamicObject[]> => {
  const { items } = await consumer.client.list<DynamicObject>(events);
  return items.filter((event) => event["reason"] === reason);
};

test("a binding with one claim in the namespace app works", async () => {
  await bindApi(fixture, widgets.name, kubeconfig, [{ ...claim, state: "Accepted" }]);
  await untilReady(widgets.name);
  await createSynced(widgets.type, "one");
});

test("a mapping that the provider makes for kube-system, the agent's or another namespace of Klutch brings nothing there and nothing up", async () => {
  await makeNamespace(consumer.client, "klutch-system");
  const refused = ["kube-system", consumerNamespace, "klutch-system"];
  for (const name of refused) {
    await consumer.client.create(secrets, secretObject(name, "other-kubeconfig", { kubeconfig: "x" }));
    await map(name);
    await answered(name);
    await provider.client.create(secrets, secretObject(mirrorOf(name), "planted", { a: "1" }));
  }
  // Not even where a claim lies.
  await create(widgets.type, widget(widgets.type, "system", {}, { namespace: "kube-system" }));
  const ref = { namespace: mirrorOf("kube-system"), name: "system" };
  await waitFor("the upstream object", () => provider.client.find(widgets.type, ref));
  await untilSeen("after-system");
  for (const name of refused) {
    assert.equal(await secretOnConsumer(name, "planted"), undefined, `planted in ${name}`);
    assert.equal(
      await secretOnProvider(mirrorOf(name), "other-kubeconfig"),
      undefined,
      `went up from ${name}`,
    );
  }
});

test("claimed objects cross from the first claim on that was made here, and when the last is gone only to clean up", async () => {
  await makeNamespace(consumer.client, "team");
  await map("team");
  await answered("team");
  await provider.client.create(secrets, secretObject(mirrorOf("team"), "planted", { a: "1" }));
  await consumer.client.create(secrets, secretObject("team", "own", { a: "1" }));
  const adopted = { namespace: "team", name: "adopted" };
  await provider.client.create(widgets.type, {
    ...widget(widgets.type, "adopted", {}),
    metadata: { namespace: mirrorOf("team"), name: "adopted" },
  });
  await waitFor("the adopted object", () => consumer.client.find(widgets.type, adopted));
  await untilSeen("before-team");
  // What the provider brought opens nothing for it.
  assert.equal(await secretOnConsumer("team", "planted"), undefined);
  assert.equal(await secretOnProvider(mirrorOf("team"), "own"), undefined);

  await create(widgets.type, widget(widgets.type, "first", {}, { namespace: "team" }));
  await waitFor("the planted Secret", () => secretOnConsumer("team", "planted"));
  await waitFor("the own Secret on the provider", () => secretOnProvider(mirrorOf("team"), "own"));

  const first = { namespace: "team", name: "first" };
  await consumer.client.delete(widgets.type, first);
  await waitFor(
    "the first to be gone",
    async () => (await consumer.client.find(widgets.type, first)) === undefined,
  );
  await provider.client.create(secrets, secretObject(mirrorOf("team"), "late", { a: "1" }));
  await provider.client.delete(secrets, { namespace: mirrorOf("team"), name: "planted" });
  await waitFor(
    "the copy of a deleted object to be deleted",
    async () => (await secretOnConsumer("team", "planted")) === undefined,
  );
  await untilSeen("after-team");
  assert.equal(await secretOnConsumer("team", "late"), undefined);
  assert.notEqual(await secretOnProvider(mirrorOf("team"), "own"), undefined);
  const patch = { metadata: { annotations: { [adoptedAnnotation]: null } } };
  await consumer.client.mergePatch(widgets.type, adopted, patch);
  await waitFor("the Secret once somebody here wants it", () => secretOnConsumer("team", "late"));
});

test("a service namespace that two mappings name counts for neither, and the tenant's own namespace never", async () => {
  for (const name of ["left", "right", "greedy"]) {
    await makeNamespace(consumer.client, name);
    await create(widgets.type, widget(widgets.type, "one", {}, { namespace: name }));
    const ref = { namespace: mirrorOf(name), name: "one" };
    await waitFor(`the upstream object of ${name}`, () => provider.client.find(widgets.type, ref));
  }
  await answerWith("right", mirrorOf("left"));
  await answerWith("greedy", tenantNamespace);
  await untilSeen("after-answers");
  for (const [name, why] of [
    ["right", "the provider gave the same namespace to another namespace of this cluster"],
    ["greedy", "the provider's status.namespace is the cluster namespace itself"],
  ] as const) {
    await create(widgets.type, widget(widgets.type, "refused", {}, { namespace: name }));
    const event = await waitFor(`the event in ${name}`, async () =>
      (await eventsAbout("NamespaceRefused")).find(
        (found) => found.metadata.namespace === name && textAt(found, "involvedObject", "name") === "refused",
      ),
    );
    assert.equal(
      `${textAt(event, "type")} ${textAt(event, "message")}`,
      `Warning ${why}, so nothing of this namespace is sent; ask the platform team`,
    );
  }
  await provider.client.create(secrets, secretObject(mirrorOf("left"), "shared", { a: "1" }));
  await untilSeen("after-shared");
  assert.equal(await secretOnConsumer("left", "shared"), undefined);
  assert.equal(await secretOnConsumer("right", "shared"), undefined);
  assert.equal(
    await secretOnConsumer("greedy", kubeconfigKey),
    undefined,
    "the tenant's kubeconfig came down",
  );
  await answerWith("right", mirrorOf("right"));
  await waitFor("the Secret when the answer is right again", () => secretOnConsumer("left", "shared"));
});

test("a claim of a namespace beyond the platform's limit says so, and goes on when there is room", async () => {
  const name = "newest";
  await makeNamespace(consumer.client, name);
  // The backend leaves the mapping of such a namespace without an answer.
  await map(name);
  await answered(name);
  await answerWith(name, "");
  await create(widgets.type, widget(widgets.type, "late", {}, { namespace: name }));
  const limit = (status: string): Promise<unknown> => {
    const lastTransitionTime = "2026-01-01T00:00:00Z";
    const condition = { type: "WithinLimits", status, reason: "TooManyNamespaces", lastTransitionTime };
    const ref = { namespace: tenantNamespace, name: clusterBindingName };
    const patch = { status: { conditions: [condition] } };
    return provider.client.mergePatch(clusterBindings, ref, patch, { subresource: "status" });
  };
  await limit("False");
  const event = await waitFor("the event", async () =>
    (await eventsAbout("NamespaceRefused")).find(({ metadata }) => metadata.namespace === name),
  );
  assert.match(
    String(event["message"]),
    /^this cluster uses more namespaces than the platform allows it, and/,
  );
  await limit("True");
  await answerWith(name, mirrorOf(name));
  await waitFor("the upstream object", () =>
    provider.client.find(widgets.type, { namespace: mirrorOf(name), name: "late" }),
  );
});

test("labels and annotations that steer the app cluster's machinery stay on the provider, ordinary ones come to the app cluster", async () => {
  const secret = secretObject(serviceNamespace, "labelled", { a: "1" });
  const metadata = {
    ...secret.metadata,
    labels: {
      team: "red",
      "app.kubernetes.io/name": "db",
      "app.kubernetes.io/managed-by": "Helm",
      "pod-security.kubernetes.io/enforce": "privileged",
      "argocd.argoproj.io/instance": "x",
      grafana_dashboard: "1",
    },
    annotations: {
      "klutch.io/note": "text",
      note: "text",
      "kubernetes.io/service-account.name": "default",
      "x.k8s.io/y": "1",
    },
  };
  await provider.client.create(secrets, { ...secret, metadata });
  const copy = await waitFor("the copy", () => onConsumer(secrets, "labelled"));
  const { labels = {}, annotations = {} } = copy.metadata;
  const foreign = (keys: readonly string[]): readonly string[] =>
    keys.filter((key) => !key.startsWith("klutch.anynines.com/")).toSorted();
  assert.deepEqual(foreign(Object.keys(labels)), ["app.kubernetes.io/name", "team"]);
  assert.deepEqual(foreign(Object.keys(annotations)), ["klutch.io/note"]);
  await provider.client.delete(secrets, { namespace: serviceNamespace, name: "labelled" });
});

test("only Secrets of types on the short list cross; what does not is told", async () => {
  const typed = (namespace: string, name: string, type: string): DynamicObject => ({
    ...secretObject(namespace, name, { a: "1" }),
    type,
  });
  await provider.client.create(
    secrets,
    typed(serviceNamespace, "bootstrap-token-abcdef", "bootstrap.kubernetes.io/token"),
  );
  await provider.client.create(secrets, typed(serviceNamespace, "odd", "example.org/odd"));
  await provider.client.create(
    secrets,
    typed(serviceNamespace, "connection", "connection.crossplane.io/v1alpha1"),
  );
  await consumer.client.create(secrets, typed("app", "sh.helm.release.v1.x.v1", "helm.sh/release.v1"));
  await consumer.client.create(secrets, typed("app", "plain", "Opaque"));
  await waitFor("the connection Secret", () => onConsumer(secrets, "connection"));
  await waitFor("the plain Secret on the provider", () => onProvider(secrets, "plain"));
  await untilSeen("after-types");
  for (const name of ["bootstrap-token-abcdef", "odd"])
    assert.equal(await onConsumer(secrets, name), undefined);
  assert.equal(await onProvider(secrets, "sh.helm.release.v1.x.v1"), undefined);
  const [refusal] = await waitFor("an event", async () => {
    const found = (await eventsAbout("SecretTypeRefused")).filter(
      (event) => (event["involvedObject"] as { name?: string }).name === "odd",
    );
    return found.length > 0 ? found : undefined;
  });
  assert.match(String(refusal?.["message"]), /type is example\.org\/odd.*Opaque/);
  await provider.client.delete(secrets, { namespace: serviceNamespace, name: "connection" });
  await consumer.client.delete(secrets, { namespace: "app", name: "plain" });
});

test("more Secrets than the limit of a namespace allows do not come down, and that is told", async () => {
  await makeNamespace(consumer.client, "full");
  await create(widgets.type, widget(widgets.type, "one", {}, { namespace: "full" }));
  const ref = { namespace: mirrorOf("full"), name: "one" };
  await waitFor("the upstream object", () => provider.client.find(widgets.type, ref));
  for (let index = 0; index < 12; index++)
    await provider.client.create(secrets, secretObject(mirrorOf("full"), `s${index}`, { a: "1" }));
  await waitFor("the event", async () => (await eventsAbout("TooManyObjects")).length > 0);
  await untilSeen("after-many");
  const { items } = await consumer.client.list<DynamicObject>(secrets, { namespace: "full" });
  assert.equal(items.length, 5);
  assert.match(String((await eventsAbout("TooManyObjects"))[0]?.["message"]), /at most 5 .*secrets.*full/);
  for (const { metadata } of items)
    await provider.client.delete(secrets, { namespace: mirrorOf("full"), name: metadata.name ?? "" });
  await waitFor("others to take their places", async () => {
    const page = await consumer.client.list<DynamicObject>(secrets, { namespace: "full" });
    return (
      page.items.length === 5 &&
      page.items.every(({ metadata }) => !items.some((one) => one.metadata.name === metadata.name))
    );
  });
});
