import assert from "node:assert/strict";
import { test } from "node:test";
import { createOsbClient, type OsbClient } from "./client.ts";
import { isGone, isRefusal, mayHaveLeftOrphan, OsbError, OsbTransportError } from "./errors.ts";
import { broker, json } from "./testing/fake-broker.ts";

const plan = { serviceId: "s", planId: "p" };
const provision = { ...plan, instanceId: "i/1", organizationGuid: "o", spaceGuid: "sp" };

test("a request carries version, credentials, identity and escaped identifiers", async (t) => {
  const { client, requests } = await broker(t, json(201, {}));
  await client.provision(provision, { identity: { platform: "kubernetes", value: { username: "x" } } });
  const [request] = requests;
  assert.equal(request?.url, "/v2/service_instances/i%2F1?accepts_incomplete=true");
  assert.equal(request.headers["x-broker-api-version"], "2.17");
  assert.equal(request.headers.authorization, `Basic ${Buffer.from("u:p").toString("base64")}`);
  assert.equal(
    request.headers["x-broker-api-originating-identity"],
    `kubernetes ${Buffer.from('{"username":"x"}').toString("base64")}`,
  );
});

test("202 without an operation is accepted", async (t) => {
  const { client } = await broker(t, json(202, {}, { "retry-after": "7" }));
  assert.deepEqual(await client.provision(provision), { kind: "accepted", retryAfterMs: 7000 });
});

test("a plain 404 without a proprietary code means gone", async (t) => {
  const { client } = await broker(t, json(404, {}));
  await assert.rejects(client.fetchInstance("i"), isGone);
});

test("404 and 410 mean gone only as an error object of a broker, not as what stands before it says them", async (t) => {
  const answers: readonly (readonly [string, string, boolean])[] = [
    ["application/json", "{}", true],
    ["application/json; charset=utf-8", '{"error":"InstanceNotFound"}', true],
    ["application/json", '{"description":"no such instance"}', true],
    ["text/html", "<html>404</html>", false],
    ["text/html", '{"description":"no such instance"}', false],
    ["application/json", '{"message":"no Route matched with those values"}', false],
    ["application/json", '"gone"', false],
    ["application/json", "", false],
    ["", "", false],
  ];
  for (const [type, body, gone] of answers) {
    for (const status of [404, 410]) {
      const { client } = await broker(t, (_request, response) => {
        response.writeHead(status, type === "" ? {} : { "content-type": type }).end(body);
      });
      await assert.rejects(client.fetchInstance("i"), (error) => isGone(error) === gone);
      const deletion = client.deprovision({ ...plan, instanceId: "i" });
      if (gone && status === 410) assert.deepEqual(await deletion, { kind: "done" });
      else await assert.rejects(deletion, (error) => isGone(error) === gone);
    }
  }
});

test("410 on a delete is success", async (t) => {
  const { client } = await broker(t, json(410, {}));
  assert.deepEqual(await client.deprovision({ ...plan, instanceId: "i" }), { kind: "done" });
});

test("the broker's words reach the error, and a refusal leaves no orphan", async (t) => {
  const { client } = await broker(
    t,
    json(422, { error: "InstanceLimitError", description: "quota of 3 reached" }),
  );
  await assert.rejects(client.provision(provision), (error) => {
    assert.ok(error instanceof OsbError);
    assert.equal(error.message, "InstanceLimitError: quota of 3 reached");
    assert.ok(isRefusal(error));
    assert.ok(!mayHaveLeftOrphan(error));
    return true;
  });
});

test("an HTML error page gives a clear error without its text", async (t) => {
  const { client } = await broker(t, (_request, response) =>
    response.writeHead(502).end("<html>secret</html>"),
  );
  await assert.rejects(client.provision(provision), (error) => {
    assert.ok(error instanceof OsbError);
    assert.match(error.message, /^the broker answered PUT .* with HTTP 502$/);
    assert.ok(mayHaveLeftOrphan(error));
    return true;
  });
});

const garbage: readonly (readonly [string, (client: OsbClient) => Promise<unknown>, unknown, RegExp])[] = [
  ["a catalog without services", (client) => client.catalog(), {}, /services is not a list/],
  [
    "a plan without an id",
    (client) => client.catalog(),
    { services: [{ id: "a", name: "b", plans: [{ name: "c" }] }] },
    /services\[0\]\.plans\[0\]\.id/,
  ],
  [
    "an unknown state",
    (client) => client.lastOperation({ instanceId: "i" }),
    { state: "done" },
    /state is "done"/,
  ],
  [
    "a bind without credentials",
    (client) => client.bind({ ...plan, instanceId: "i", bindingId: "b" }),
    {},
    /credentials is missing/,
  ],
  [
    "an operation that is a number",
    (client) => client.provision(provision),
    { operation: 3 },
    /operation is not a string/,
  ],
];
for (const [what, call, body, message] of garbage) {
  test(`garbage is named: ${what}`, async (t) => {
    const { client } = await broker(t, json(what.includes("operation that") ? 202 : 200, body));
    await assert.rejects(call(client), (error) => {
      assert.ok(error instanceof OsbTransportError);
      assert.equal(error.code, "Garbage");
      assert.match(error.message, message);
      return true;
    });
  });
}

test("what came instead of an answer is said without its text, and what may be wrong", async (t) => {
  const cases = [
    [
      200,
      "<html>secret</html>",
      /^the broker answered GET \/v2\/catalog with a page \(HTML\) instead of JSON; check the broker's address, and what stands before it$/,
    ],
    [200, '{"services": [{"id": "secret', /with JSON that is broken, or only half of it$/],
    [200, "secret", /with something that is not JSON$/],
    [401, "", /with HTTP 401: it does not take our credentials$/],
  ] as const;
  for (const [status, body, message] of cases) {
    const { client } = await broker(t, (_request, response) => response.writeHead(status).end(body));
    await assert.rejects(client.catalog(), { message });
  }
});

test("text that is not JSON is garbage", async (t) => {
  const { client } = await broker(t, (_request, response) => response.writeHead(200).end("hello"));
  await assert.rejects(client.catalog(), { code: "Garbage" });
});

test("a broker that does not answer is a time-out, which may have left an orphan", async (t) => {
  const { client } = await broker(t, () => {}, { timeoutMs: 300 });
  await assert.rejects(client.provision(provision), (error) => {
    assert.ok(error instanceof OsbTransportError);
    assert.equal(error.code, "Timeout");
    assert.ok(mayHaveLeftOrphan(error));
    return true;
  });
});

test("a broker that is not there is unreachable, which leaves no orphan", async () => {
  await using client = createOsbClient({ url: "http://127.0.0.1:1" });
  await assert.rejects(client.catalog(), (error) => {
    assert.ok(error instanceof OsbTransportError);
    assert.equal(error.code, "Unreachable");
    assert.ok(!mayHaveLeftOrphan(error));
    return true;
  });
});

test("the caller's abort ends the call with the caller's reason", async (t) => {
  const { client } = await broker(t, () => {});
  const reason = new Error("enough");
  await assert.rejects(client.catalog({ signal: AbortSignal.abort(reason) }), reason);
});
