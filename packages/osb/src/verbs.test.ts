import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import type { OsbClient } from "./client.ts";
import {
  isConcurrency,
  isGone,
  isRefusal,
  mayHaveLeftOrphan,
  OsbError,
  OsbTransportError,
} from "./errors.ts";
import { broker, json } from "./testing/fake-broker.ts";

const plan = { serviceId: "s", planId: "p" };
const instance = { ...plan, instanceId: "i" };
const binding = { ...instance, bindingId: "b" };
const provision = { ...instance, organizationGuid: "o", spaceGuid: "sp" };

interface Sent {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly body: unknown;
}

/** Request of each verb: the path, query and body that the specification names. */
const verbs: readonly (readonly [string, (client: OsbClient) => Promise<unknown>, Sent])[] = [
  ["catalog", (client) => client.catalog(), { method: "GET", url: "/v2/catalog", body: undefined }],
  [
    "provision",
    (client) => client.provision({ ...provision, parameters: { a: 1 }, context: { platform: "kubernetes" } }),
    {
      method: "PUT",
      url: "/v2/service_instances/i?accepts_incomplete=true",
      body: {
        service_id: "s",
        plan_id: "p",
        organization_guid: "o",
        space_guid: "sp",
        parameters: { a: 1 },
        context: { platform: "kubernetes" },
      },
    },
  ],
  [
    "provision that must be finished at once",
    (client) => client.provision({ ...provision, acceptsIncomplete: false }),
    {
      method: "PUT",
      url: "/v2/service_instances/i",
      body: { service_id: "s", plan_id: "p", organization_guid: "o", space_guid: "sp" },
    },
  ],
  [
    "update",
    (client) => client.update({ ...instance, parameters: { a: null } }),
    {
      method: "PATCH",
      url: "/v2/service_instances/i?accepts_incomplete=true",
      body: { service_id: "s", plan_id: "p", parameters: { a: null } },
    },
  ],
  [
    "deprovision",
    (client) => client.deprovision(instance),
    {
      method: "DELETE",
      url: "/v2/service_instances/i?accepts_incomplete=true&service_id=s&plan_id=p",
      body: undefined,
    },
  ],
  [
    "fetchInstance",
    (client) => client.fetchInstance("i"),
    { method: "GET", url: "/v2/service_instances/i", body: undefined },
  ],
  [
    "bind",
    (client) => client.bind(binding),
    {
      method: "PUT",
      url: "/v2/service_instances/i/service_bindings/b?accepts_incomplete=true",
      body: { service_id: "s", plan_id: "p" },
    },
  ],
  [
    "unbind",
    (client) => client.unbind(binding),
    {
      method: "DELETE",
      url: "/v2/service_instances/i/service_bindings/b?accepts_incomplete=true&service_id=s&plan_id=p",
      body: undefined,
    },
  ],
  [
    "fetchBinding",
    (client) => client.fetchBinding("i", "b"),
    { method: "GET", url: "/v2/service_instances/i/service_bindings/b", body: undefined },
  ],
  [
    "lastOperation of an instance, with an operation of any letters",
    (client) => client.lastOperation({ ...instance, operation: "a&b=c d/ü" }),
    {
      method: "GET",
      url: "/v2/service_instances/i/last_operation?service_id=s&plan_id=p&operation=a%26b%3Dc+d%2F%C3%BC",
      body: undefined,
    },
  ],
  [
    "lastOperation of a binding",
    (client) => client.lastOperation({ instanceId: "i", bindingId: "b" }),
    { method: "GET", url: "/v2/service_instances/i/service_bindings/b/last_operation", body: undefined },
  ],
  [
    "checkHealth, whose path needs no slash",
    (client) => client.checkHealth("health/ready"),
    { method: "GET", url: "/health/ready", body: undefined },
  ],
];
for (const [what, call, expected] of verbs) {
  test(`the request: ${what}`, async (t) => {
    const sent: Sent[] = [];
    const { client } = await broker(t, (request, response) => {
      const answer = { services: [], state: "succeeded", credentials: {} };
      void text(request).then((body) => {
        const { method, url } = request;
        sent.push({ method, url, body: body === "" ? undefined : JSON.parse(body) });
        json(200, answer)(request, response);
      });
    });
    await call(client);
    assert.deepEqual(sent, [expected]);
  });
}

test("identifiers of any letters stay one segment of the path", async (t) => {
  const { client, requests } = await broker(t, json(200, {}));
  await client.fetchBinding("../../catalog?x=1#y", "a/b c");
  assert.equal(
    requests[0]?.url,
    "/v2/service_instances/..%2F..%2Fcatalog%3Fx%3D1%23y/service_bindings/a%2Fb%20c",
  );
});

test("a finished answer is done whatever its status of success and body, an accepted one is not", async (t) => {
  for (const status of [200, 201, 204]) {
    const { client } = await broker(t, (_request, response) => response.writeHead(status).end());
    if (status !== 204) assert.deepEqual(await client.provision(provision), { kind: "done" });
    assert.deepEqual(await client.update(instance), { kind: "done" });
    assert.deepEqual(await client.deprovision(instance), { kind: "done" });
    assert.deepEqual(await client.unbind(binding), { kind: "done" });
  }
  const { client } = await broker(t, json(202, { operation: "task-7" }));
  const accepted = { kind: "accepted", operation: "task-7", retryAfterMs: undefined };
  assert.deepEqual(await client.provision(provision), accepted);
  assert.deepEqual(await client.bind(binding), accepted);
  assert.deepEqual(await client.unbind(binding), accepted);
});

test("an operation of null is none", async (t) => {
  const { client } = await broker(t, json(202, { operation: null }));
  assert.deepEqual(await client.update(instance), { kind: "accepted", retryAfterMs: undefined });
});

/** Status → refusal, gone, orphan, as the specification's table of responses says. */
const statuses: readonly (readonly [
  number,
  { readonly refusal?: true; readonly gone?: true; readonly orphan?: true },
])[] = [
  [301, {}],
  [400, { refusal: true }],
  [401, {}],
  [403, {}],
  [404, { refusal: true, gone: true }],
  [405, { refusal: true }],
  [408, { orphan: true }],
  [409, { refusal: true }],
  [410, { refusal: true, gone: true }],
  [412, { refusal: true }],
  [422, { refusal: true }],
  [429, {}],
  [500, { orphan: true }],
  [501, { orphan: true }],
  [503, { orphan: true }],
  [504, { orphan: true }],
];
test("each status of failure is judged as the specification does", async (t) => {
  for (const [status, expected] of statuses) {
    const { client } = await broker(t, json(status, { description: "why" }, { location: "/elsewhere" }));
    await assert.rejects(client.provision(provision), (error) => {
      assert.ok(error instanceof OsbError);
      assert.equal(error.status, status);
      assert.equal(error.message, "why");
      const judged = {
        ...(isRefusal(error) ? { refusal: true } : {}),
        ...(isGone(error) ? { gone: true } : {}),
        ...(mayHaveLeftOrphan(error) ? { orphan: true } : {}),
      };
      assert.deepEqual(judged, expected, String(status));
      return true;
    });
  }
});

test("a redirect is an error and is not followed with the credentials", async (t) => {
  const { client, requests } = await broker(t, json(307, {}, { location: "http://127.0.0.1:1/v2/catalog" }));
  await assert.rejects(client.catalog(), { status: 307 });
  assert.equal(requests.length, 1);
});

test("that another operation runs is no refusal, and only the code says it", async (t) => {
  const { client } = await broker(t, json(422, { error: "ConcurrencyError" }));
  await assert.rejects(client.update(instance), (error) => isConcurrency(error) && !isRefusal(error));
  const { client: other } = await broker(t, json(422, { description: "ConcurrencyError" }));
  await assert.rejects(other.update(instance), (error) => !isConcurrency(error) && isRefusal(error));
  const { client: wrong } = await broker(t, json(500, { error: "ConcurrencyError" }));
  await assert.rejects(wrong.update(instance), (error) => !isConcurrency(error));
});

test("404 on a deletion is not done: only 410 is what the specification calls gone", async (t) => {
  const { client } = await broker(t, json(404, {}));
  await assert.rejects(client.deprovision(instance), isGone);
  const { client: gone } = await broker(t, json(410, {}));
  assert.deepEqual(await gone.unbind(binding), { kind: "done" });
  await assert.rejects(gone.lastOperation(instance), isGone);
});

test("an error of another kind is none of these", () => {
  for (const error of [new Error("x"), undefined, "gone", { status: 410, own: true }]) {
    assert.ok(!isGone(error) && !isRefusal(error) && !isConcurrency(error) && !mayHaveLeftOrphan(error));
  }
  assert.ok(mayHaveLeftOrphan(new OsbTransportError("Garbage", "x")));
  assert.ok(mayHaveLeftOrphan(new OsbTransportError("TooLarge", "x")));
});

test("success with a page of a proxy is garbage, which may have left an orphan", async (t) => {
  const { client } = await broker(t, (_request, response) =>
    response.writeHead(200, { "content-type": "text/html" }).end("<html>log in</html>"),
  );
  await assert.rejects(client.provision(provision), (error) => {
    assert.ok(error instanceof OsbTransportError);
    assert.equal(error.code, "Garbage");
    assert.ok(mayHaveLeftOrphan(error));
    assert.doesNotMatch(error.message, /log in/);
    return true;
  });
});

test("health is any status of success, whatever the body", async (t) => {
  const { client } = await broker(t, (_request, response) => response.writeHead(204).end());
  await client.checkHealth("/healthy");
  const { client: ill } = await broker(t, (_request, response) => response.writeHead(503).end("no"));
  await assert.rejects(ill.checkHealth("/healthy"), { status: 503 });
});
