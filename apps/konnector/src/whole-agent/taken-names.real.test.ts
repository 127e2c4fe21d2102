/** The konnector between two real API servers: a claim is not ready while its Secret is somebody else's. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type DynamicObject,
  events,
  namespaces,
  recordsAt,
  type Secret,
  secrets,
  textAt,
} from "@klutch/kube-core";
import { secretObject, waitFor } from "@klutch/kube-testing";
import { databaseApi, readyStatus } from "../testing/database-api.ts";
import { bindApi, type RunningKonnector, startKonnector, widget } from "../testing/fixture.ts";
import { serviceNamespace } from "../testing/pair.ts";
import { providerSecrets } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const databases = databaseApi("databases", "Database");
const { type } = databases;
const claims = [providerSecrets];
const fixture = await startTenantFixture({ exported: [{ ...databases, claims }] });
const { consumer, provider, kubeconfig, cleanup, onConsumer, untilReady, create, createSynced } = fixture;
let konnector: RunningKonnector = await startKonnector(fixture, {
  timing: { takenRetryMs: 1_000, providerObjectsLimit: 8 },
});
cleanup.defer(() => konnector[Symbol.asyncDispose]());
const words =
  "Secret one-creds exists and is not Klutch's, so the credentials are not in it. Rename or delete it.";

async function readyOf(name: string, namespace = "app"): Promise<string> {
  const claim = await consumer.client.find<DynamicObject>(type, { namespace, name });
  const [ready] = recordsAt(claim?.status, "conditions").filter((one) => one["type"] === "Ready");
  return ["status", "reason", "message"].map((field) => textAt(ready, field) ?? "").join(" ");
}
const untilSays = (name: string, text: string): Promise<unknown> =>
  waitFor(`${name} to say ${text}`, async () => (await readyOf(name)).startsWith(text));

/** Plays the provider: credentials in a Secret beside its object, and a status that names it. */
async function serve(name: string, secret: string, namespace: string = serviceNamespace): Promise<void> {
  const ref = { namespace, name: secret };
  if ((await provider.client.find(secrets, ref)) === undefined)
    await provider.client.create(secrets, secretObject(namespace, secret, { password: "p" }));
  const status = readyStatus(secret);
  await provider.client.mergePatch(type, { namespace, name }, { status }, { subresource: "status" });
}

async function warningsOn(name: string, reason: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const event of consumer.client.listAll<DynamicObject>(events))
    if (
      textAt(event, "involvedObject", "kind") === "Database" &&
      textAt(event, "involvedObject", "name") === name &&
      event["reason"] === reason
    )
      found.push(`${textAt(event, "type")} ${textAt(event, "message")}`);
  return found;
}

test("a claim whose Secret is somebody else's is not ready, and says which Secret and what to do", async () => {
  await bindApi(
    fixture,
    databases.name,
    kubeconfig,
    claims.map((claim) => ({ ...claim, state: "Accepted" })),
  );
  await untilReady(databases.name);
  await consumer.client.create(secrets, secretObject("app", "one-creds", { a: "1" }));
  await createSynced(type, "one");
  await createSynced(type, "two");
  await serve("one", "one-creds");
  await serve("two", "two-creds");
  await untilSays("one", `False NameTaken ${words}`);
  await untilSays("two", "True Available");
  const warnings = await waitFor("the event on the claim", async () => {
    const found = await warningsOn("one", "NameTaken");
    return found.length > 0 ? found : undefined;
  });
  assert.deepEqual(warnings, [`Warning ${words}`]);
  const { data } = await consumer.client.get<Secret>(secrets, { namespace: "app", name: "one-creds" });
  assert.deepEqual(Object.keys(data ?? {}), ["a"]);
});

test("the status of such a claim follows its provider's, is written once for each, and not at rest", async () => {
  const before = konnector.writes.length;
  for (const message of ["first", "second"]) {
    const ref = { namespace: serviceNamespace, name: "one" };
    const status = { ...readyStatus("one-creds", message), managed: { note: message } };
    await provider.client.mergePatch(type, ref, { status }, { subresource: "status" });
    await waitFor("the news", async () => {
      const claim = await onConsumer(type, "one");
      return textAt(claim?.status, "managed", "note") === message;
    });
    assert.equal(await readyOf("one"), `False NameTaken ${words}`);
  }
  // A claim that is synced later shows that nothing of this one waits to be written.
  await createSynced(type, "three");
  await serve("three", "three-creds");
  await untilSays("three", "True Available");
  const written = konnector.writes.slice(before).filter((write) => write.includes("status databases"));
  assert.equal(written.length - 1, 2, written.join("\n"));
});

test("a konnector that starts does not call such a claim ready in between", async () => {
  await konnector[Symbol.asyncDispose]();
  const seen: string[] = [];
  const { resourceVersion } = await consumer.client.list<DynamicObject>(type);
  const stop = new AbortController();
  const watching = (async () => {
    for await (const event of consumer.client.watch<DynamicObject>(type, {
      resourceVersion,
      signal: stop.signal,
    }))
      if (event.type !== "BOOKMARK" && event.object.metadata.name === "one")
        seen.push(JSON.stringify(event.object.status));
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  konnector = await startKonnector(fixture, { timing: { takenRetryMs: 1_000, providerObjectsLimit: 8 } });
  await createSynced(type, "four");
  await serve("four", "four-creds");
  await untilSays("four", "True Available");
  await waitFor("the Secret of four", () => onConsumer(secrets, "four-creds"));
  stop.abort();
  await watching;
  assert.deepEqual(seen, []);
  assert.equal(await readyOf("one"), `False NameTaken ${words}`);
});

test("a claim of another namespace that names a Secret of the same name is ready", async () => {
  await consumer.client.create(namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "other" },
  });
  await create(type, widget(type, "one", {}, { namespace: "other" }));
  const mirror = serviceNamespace.replace(/-app$/, "-other");
  await waitFor("it on the provider", () =>
    provider.client.find<DynamicObject>(type, { namespace: mirror, name: "one" }),
  );
  await serve("one", "one-creds", mirror);
  await waitFor("it to be ready", async () => (await readyOf("one", "other")).startsWith("True Available"));
  assert.equal(await readyOf("one"), `False NameTaken ${words}`);
});

test("when the foreign Secret goes, the credentials come and the claim is ready", async () => {
  await consumer.client.delete(secrets, { namespace: "app", name: "one-creds" });
  await untilSays("one", "True Available");
  const { data } = await consumer.client.get<Secret>(secrets, { namespace: "app", name: "one-creds" });
  assert.deepEqual(Object.keys(data ?? {}), ["password"]);
});

test("a claim whose Secret has a type that does not cross is not ready and says so, until it has another one", async () => {
  await createSynced(type, "odd");
  const secret = {
    ...secretObject(serviceNamespace, "odd-creds", { password: "p" }),
    type: "example.org/odd",
  };
  await provider.client.create(secrets, secret);
  await serve("odd", "odd-creds");
  await untilSays(
    "odd",
    "False SecretTypeRefused Secret odd-creds with the credentials is not copied to this",
  );
  const warnings = await waitFor("the event on the claim", async () => {
    const found = await warningsOn("odd", "SecretTypeRefused");
    return found.length > 0 ? found : undefined;
  });
  assert.match(
    warnings.join(),
    /^Warning Secret odd-creds .* because of its type\. Ask the platform team\.$/,
  );
  await konnector[Symbol.asyncDispose]();
  konnector = await startKonnector(fixture, { timing: { takenRetryMs: 1_000, providerObjectsLimit: 8 } });
  await createSynced(type, "five");
  assert.match(await readyOf("odd"), /^False SecretTypeRefused/);
  await provider.client.delete(secrets, { namespace: serviceNamespace, name: "odd-creds" });
  await serve("odd", "odd-creds");
  await untilSays("odd", "True Available");
});

test("a claim whose Secret finds no place in its namespace says so, until there is room", async () => {
  const namespace = "full";
  await consumer.client.create(namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace },
  });
  await create(type, widget(type, "late", {}, { namespace }));
  const mirror = serviceNamespace.replace(/-app$/, "-full");
  await waitFor("it on the provider", () =>
    provider.client.find<DynamicObject>(type, { namespace: mirror, name: "late" }),
  );
  const fillers = Array.from({ length: 8 }, (_, index) => `filler-${index}`);
  for (const name of fillers) await provider.client.create(secrets, secretObject(mirror, name, { a: "1" }));
  for (const name of fillers)
    await waitFor(`the copy of ${name}`, () => consumer.client.find(secrets, { namespace, name }));
  await serve("late", "late-creds", mirror);
  await waitFor("the claim to say it", async () =>
    (await readyOf("late", namespace)).startsWith(
      "False TooManyObjects Secret late-creds with the credentials",
    ),
  );
  await provider.client.delete(secrets, { namespace: mirror, name: "filler-0" });
  await waitFor("it to be ready", async () =>
    (await readyOf("late", namespace)).startsWith("True Available"),
  );
});
