import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { test } from "node:test";
import fc from "fast-check";
import { isRefusal, OsbError } from "./errors.ts";
import { broker, json } from "./testing/fake-broker.ts";
import { apiVersions, hasFeature, nextVersion } from "./version.ts";

const instance = { instanceId: "i", serviceId: "s", planId: "p" };
const binding = { ...instance, bindingId: "b" };
const versionOf = (request: IncomingMessage): string => String(request.headers["x-broker-api-version"]);

/** Answers 412 to all versions but these, in its own words. */
const speaking =
  (known: readonly string[], words = "wrong version") =>
  (request: IncomingMessage, response: ServerResponse): void => {
    const answer = { services: [], credentials: {}, state: "succeeded" };
    if (known.includes(versionOf(request))) json(200, answer)(request, response);
    else json(412, { description: words })(request, response);
  };

test("the version that the broker names is tried first, else the newest that is left", () => {
  const cases: readonly (readonly [readonly string[], string, string | undefined])[] = [
    [["2.17"], "use 2.14 please", "2.14"],
    [["2.17"], "2.13 or newer is needed, 2.15 at most", "2.15"],
    [["2.17"], "no", "2.16"],
    [["2.17"], "you sent 2.17", "2.16"],
    [["2.17"], "I am build 12.15.1 of 2.130", "2.16"],
    [["2.17", "2.14"], "use 2.14", "2.16"],
    [apiVersions, "use 2.14", undefined],
  ];
  for (const [refused, words, expected] of cases)
    assert.equal(nextVersion(new Set(refused), words), expected, `${refused.join()} ${words}`);
});

test("whatever a broker says to a 412, the client asks each version at most once and then stops", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.string(), fc.constantFrom(...apiVersions)), { minLength: 9 }),
      (words) => {
        const refused = new Set<string>(["2.17"]);
        for (const said of words) {
          const next = nextVersion(refused, said);
          if (next === undefined) break;
          assert.ok(!refused.has(next));
          refused.add(next);
        }
        assert.equal(refused.size, apiVersions.length);
      },
    ),
  );
});

test("a broker of one version is found for each version, and remembered", async (t) => {
  for (const version of apiVersions) {
    const { client, requests } = await broker(t, speaking([version]));
    await client.catalog();
    const asked = requests.length;
    assert.ok(asked <= apiVersions.length);
    await client.provision({ ...instance, organizationGuid: "o", spaceGuid: "s" });
    assert.deepEqual(requests.slice(asked).map(versionOf), [version]);
  }
});

test("a broker that is downgraded while the client lives is spoken to in its new version", async (t) => {
  let known = ["2.17"];
  const { client, requests } = await broker(t, (request, response) => speaking(known)(request, response));
  await client.catalog();
  known = ["2.14"];
  await client.catalog();
  known = ["2.16"];
  await client.catalog();
  assert.equal(requests.map(versionOf).at(-1), "2.16");
});

test("a broker that refuses every version is asked five times, and its last words are the error", async (t) => {
  const { client, requests } = await broker(t, speaking([], "use 2.15, or 2.99"));
  await assert.rejects(client.catalog(), (error) => {
    assert.ok(error instanceof OsbError && error.status === 412);
    assert.equal(error.message, "use 2.15, or 2.99");
    assert.ok(isRefusal(error));
    return true;
  });
  assert.deepEqual(requests.map(versionOf), ["2.17", "2.15", "2.16", "2.14", "2.13"]);
});

test("a version that is configured is not negotiated", async (t) => {
  const { client, requests } = await broker(t, speaking(["2.17"]), { apiVersion: "2.14" });
  await assert.rejects(client.catalog(), { status: 412 });
  assert.equal(requests.length, 1);
});

test("calls at the same time negotiate without hurting each other", async (t) => {
  const { client, requests } = await broker(t, speaking(["2.15"], "2.15 is needed"));
  await Promise.all([client.catalog(), client.catalog(), client.catalog()]);
  assert.ok(requests.length <= 6);
  await client.catalog();
  assert.equal(requests.map(versionOf).at(-1), "2.15");
});

test("an error that is no 412 decides the version as well as a success", async (t) => {
  const { client, requests } = await broker(t, (request, response) =>
    json(versionOf(request) === "2.14" ? 500 : 412, { description: "2.14" })(request, response),
  );
  await assert.rejects(client.catalog(), { status: 500 });
  await assert.rejects(client.catalog(), { status: 500 });
  assert.deepEqual(requests.map(versionOf), ["2.17", "2.14", "2.14"]);
});

test("each version has what the versions before it had", () => {
  const features = ["fetching", "asynchronousBinding", "requestIdentity", "maintenanceInfo"] as const;
  const table = apiVersions.map((version) => [
    version,
    ...features.map((feature) => hasFeature(version, feature)),
    hasFeature(version, "fetchingHints"),
    hasFeature(version, "bindingRotation"),
  ]);
  assert.deepEqual(table, [
    ["2.17", true, true, true, true, true, true],
    ["2.16", true, true, true, true, true, false],
    ["2.15", true, true, true, true, false, false],
    ["2.14", true, true, false, false, false, false],
    ["2.13", false, false, false, false, false, false],
  ]);
  assert.ok(hasFeature("something else", "bindingRotation"));
});

test("a broker of 2.13 is not sent what came later", async (t) => {
  const { client, requests } = await broker(t, speaking(["2.13"]));
  await client.bind({ ...binding, bindResource: { appGuid: "a" } });
  await client.unbind(binding);
  const last = requests.slice(-2);
  assert.deepEqual(
    last.map(({ method, url }) => `${method} ${url}`),
    [
      "PUT /v2/service_instances/i/service_bindings/b",
      "DELETE /v2/service_instances/i/service_bindings/b?service_id=s&plan_id=p",
    ],
  );
  for (const { headers } of last) assert.equal(headers["x-broker-api-request-identity"], undefined);
  const asked = requests.length;
  for (const call of [
    client.fetchInstance("i"),
    client.fetchBinding("i", "b"),
    client.lastOperation(binding),
    client.bind({ ...binding, predecessorBindingId: "a" }),
  ])
    await assert.rejects(call, { code: "NotSent", message: /needs version 2\.1[47] of the API/ });
  assert.equal(requests.length, asked);
});
