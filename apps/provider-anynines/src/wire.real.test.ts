import assert from "node:assert/strict";
import { after, test } from "node:test";
import { managedServiceBindings, providerConfigs, serviceInstances } from "@klutch/api";
import { parsePlacedYaml } from "@klutch/kube";
import { type DynamicObject, isRecord, recordAt, secrets } from "@klutch/kube-core";
import { fetchCatalogDocument } from "@klutch/osb";
import { credentials as foreignLogin, startFakeServer } from "@klutch/osb-conformance/testing";
import { readTable, tableFromCatalog } from "@klutch/services";
import { brokerError } from "./testing/front.ts";
import { binding, config, instance, startFixture } from "./testing/fixture.ts";
import { team } from "./testing/kinds.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("wire"));
const { client, front } = fixture;
const ready = { type: "Ready", status: "True" };
stack.defer(fixture.run());

/** The binding with further fields of `spec.forProvider`. */
function withFields(object: DynamicObject, fields: object): DynamicObject {
  const spec = recordAt(object, "spec");
  return { ...object, spec: { ...spec, forProvider: { ...recordAt(spec, "forProvider"), ...fields } } };
}

/** Returns the users named in the requests below a path, once each. */
function named(under: string): readonly unknown[] {
  const headers = front.asked
    .filter(({ path }) => path.startsWith(under))
    .map((asked) => asked.headers["x-broker-api-originating-identity"]);
  return [...new Set(headers)].map((header) => {
    const [platform = "", value = ""] = String(header).split(" ");
    const identity: unknown = JSON.parse(Buffer.from(value, "base64").toString() || "null");
    return [platform, identity];
  });
}

async function bind(name: string, fields: object): Promise<void> {
  front.asked.length = 0;
  await client.create(managedServiceBindings, withFields(binding(name, "one"), fields));
  await fixture.condition(managedServiceBindings, name, ready);
}

async function unbind(name: string): Promise<void> {
  await client.delete(managedServiceBindings, { name });
  await fixture.gone(managedServiceBindings, { name });
}

/** Bodies of binds, in their order. */
const bindBodies = (): readonly Readonly<Record<string, unknown>>[] =>
  front.asked
    .filter(({ method, path }) => method === "PUT" && path.includes("/service_bindings/"))
    .map(({ body }) => {
      const value: unknown = JSON.parse(body);
      return isRecord(value) ? value : {};
    });

test("every call about an instance or a binding names the claim, or whom the spec names", async () => {
  const { metadata } = await client.create(serviceInstances, instance("one"));
  await fixture.condition(serviceInstances, "one", ready);
  const claim = {
    username: "klutch:claim:team:one",
    uid: metadata.uid,
    groups: ["klutch:claims:team"],
    extra: {},
  };
  const { instanceId } = await fixture.atProvider(serviceInstances, "one");
  const path = `/v2/service_instances/${String(instanceId)}`;
  assert.deepEqual(named(path), [["kubernetes", claim]]);
  assert.ok(front.asked.some((asked) => asked.path === `${path}/last_operation`));
  await bind("jane", { originatingIdentity: { platform: "crm", value: '{"user":"jane"}' } });
  await unbind("jane");
  assert.deepEqual(named(`${path}/service_bindings`), [["crm", { user: "jane" }]]);
  await bind("joe", { originatingIdentity: { platform: "crm", value: "joe" } });
  await unbind("joe");
  assert.deepEqual(named(`${path}/service_bindings`), [["crm", { username: "joe" }]]);
});

test("an identity that no header can carry is refused by name, and does not stand in the way of a deletion", async () => {
  const wrong = withFields(binding("wrong", "one"), { originatingIdentity: { platform: "a b", value: "x" } });
  await client.create(managedServiceBindings, wrong);
  await fixture.condition(managedServiceBindings, "wrong", {
    type: "Synced",
    status: "False",
    message: /spec\.forProvider\.originatingIdentity\.platform is "a b"; it must have 1 to 100 visible ASCII/,
  });
  await unbind("wrong");
});

test("the bind resource of the spec is sent, and without one nothing", async () => {
  await bind("plain", {});
  assert.ok(!("bind_resource" in (bindBodies()[0] ?? {})));
  await unbind("plain");
  await bind("app", { bindResource: { appGuid: "app-1", route: "x.example" } });
  assert.deepEqual(bindBodies()[0]?.["bind_resource"], { app_guid: "app-1", route: "x.example" });
  await unbind("app");
});

test("a broker that binds only applications gets the binding itself as one", async () => {
  front.lie = ({ method, body }) =>
    method === "PUT" && !body.includes("app_guid") ? brokerError(422, "RequiresApp", "no app") : undefined;
  await bind("needy", {});
  front.lie = undefined;
  const { uid } = (await client.get(managedServiceBindings, { name: "needy" })).metadata;
  const sent = bindBodies().map((body) => body["bind_resource"]);
  assert.deepEqual(sent, [undefined, { app_guid: uid }]);
  await unbind("needy");
});

test("a broker that speaks only an older version is spoken to in that, from its first refusal on", async () => {
  front.asked.length = 0;
  front.lie = ({ headers }) =>
    headers["x-broker-api-version"] === "2.14"
      ? undefined
      : brokerError(412, "PreconditionFailed", "this broker speaks 2.14");
  await client.create(serviceInstances, instance("old"));
  await fixture.condition(serviceInstances, "old", ready);
  // Of each instance one request comes after the other. Of two at the same time the second may have left before the first was refused.
  const ofInstances = Map.groupBy(front.asked, ({ path: asked }) => asked.split("/")[3] ?? "");
  const seen = new Set<unknown>();
  for (const [id, asked] of ofInstances) {
    const versions = asked.map(({ headers }) => headers["x-broker-api-version"]);
    for (const version of versions) seen.add(version);
    const first = versions.indexOf("2.14");
    assert.ok(first >= 0 && first <= 1, `${id}: ${versions.join()}`);
    assert.deepEqual([...new Set(versions.slice(first))], ["2.14"], id);
  }
  assert.deepEqual(seen, new Set(["2.14", "2.17"]));
  front.lie = undefined;
  for (const name of ["old", "one"]) {
    await client.delete(serviceInstances, { name });
    await fixture.gone(serviceInstances, { name });
  }
});

const encoded = (text: string): string => Buffer.from(text).toString("base64");

/** Makes a ProviderConfig of a broker in memory, with a Secret of its own. */
async function createForeign(name: string, url: string, context?: object): Promise<void> {
  const { username, password } = foreignLogin;
  await client.create<DynamicObject>(secrets, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: team, name },
    data: { username: encoded(username), password: encoded(password) },
  });
  const made = config(providerConfigs, name, { url, serviceType: "servicebroker", context });
  const key = (field: string): object => ({ secretRef: { namespace: team, name, key: field } });
  const providerCredentials = { source: "Secret", username: key("username"), password: key("password") };
  await client.create(providerConfigs, { ...made, spec: { ...recordAt(made, "spec"), providerCredentials } });
}

/** The broker refuses each field that it does not know: a text in its context, and any other field. */
const strangers = [
  {
    type: "namespaced",
    fields: { context: ["platform", "namespace", "clusterid"] },
    context: { kind: "Namespace", clusterID: "control-plane-1" },
    sent: { platform: "kubernetes", namespace: team, clusterid: "control-plane-1" },
  },
  { type: "silent", fields: { context: undefined }, context: { kind: "None" }, sent: undefined },
] as const;

for (const { type, fields, context, sent } of strangers) {
  test(`a broker without organisation and space (${context.kind}) goes from its catalog to a deletion`, async (t) => {
    const bodies: unknown[] = [];
    const { url, memory } = await startFakeServer(t, {
      fields,
      operationLength: 2,
      alter(answer, { body }) {
        if (answer.status < 400 && body !== undefined) bodies.push(body["context"]);
        return answer;
      },
    });
    const document = await fetchCatalogDocument({ url, auth: { kind: "basic", ...foreignLogin } });
    const { table } = readTable(parsePlacedYaml(tableFromCatalog(document, { source: "a test" }).text));
    const [backend] = table?.backends ?? [];
    const names = { serviceName: backend?.services[0], planName: backend?.plans[0]?.name };

    const configName = `${type}-service-broker`;
    await createForeign(configName, url);
    const wanted = instance(type, names);
    const spec = { ...recordAt(wanted, "spec"), providerConfigRef: { name: configName } };
    await client.create(serviceInstances, { ...wanted, spec });
    const refused = { type: "Synced", status: "False", message: /BadRequest: unknown field / };
    const { reason, message } = await fixture.condition(serviceInstances, type, refused);
    assert.equal(reason, "Refused");
    assert.match(message, new RegExp(`spec\\.context of ProviderConfig ${configName}, now Organization`));
    assert.equal(memory.things.size, 0);

    await client.mergePatch(providerConfigs, { name: configName }, { spec: { context } });
    await fixture.condition(serviceInstances, type, ready);
    await client.create(managedServiceBindings, binding(type, type, type));
    await fixture.condition(managedServiceBindings, type, ready);
    assert.match((await fixture.credentials(type))["uri"] ?? "", /^memory:/);
    assert.deepEqual(bodies, [sent, sent]);
    await unbind(type);
    await client.delete(serviceInstances, { name: type });
    await fixture.gone(serviceInstances, { name: type });
    assert.equal(memory.things.size, 0);
  });
}

test("a namespace in the context needs the name of this control plane", async () => {
  const without = createForeign("unnamed", "http://127.0.0.1:9", { kind: "Namespace" });
  await assert.rejects(without, /spec\.context.*clusterID is required with the kind Namespace/);
});
