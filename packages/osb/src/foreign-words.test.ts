import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { test } from "node:test";
import { inspect } from "node:util";
import type { OsbClient } from "./client.ts";
import { OsbError, OsbTransportError } from "./errors.ts";
import { broker, json } from "./testing/fake-broker.ts";
import type { BrokerConfig } from "./transport.ts";

const plan = { serviceId: "s", planId: "p" };
const provision = { ...plan, instanceId: "i", organizationGuid: "o", spaceGuid: "sp" };
const binding = { ...plan, instanceId: "i", bindingId: "b" };

/** A password that is escaped differently in a header, in JSON and in an address. */
const password = 'pa"ss/w ord';
const basic = Buffer.from(`u:${password}`).toString("base64");
const logins: readonly (readonly [NonNullable<BrokerConfig["auth"]>, readonly string[]])[] = [
  [{ kind: "basic", username: "u", password }, [password, basic]],
  [{ kind: "bearer", token: "t0ken-of-ours" }, ["t0ken-of-ours"]],
];

/** Every verb, and what of the broker's words it hands on. */
const verbs: readonly (readonly [string, (client: OsbClient) => Promise<unknown>])[] = [
  ["catalog", (client) => client.catalog()],
  ["provision", (client) => client.provision(provision)],
  ["update", (client) => client.update({ ...plan, instanceId: "i" })],
  ["deprovision", (client) => client.deprovision({ ...plan, instanceId: "i" })],
  ["fetchInstance", (client) => client.fetchInstance("i")],
  ["bind", (client) => client.bind(binding)],
  ["unbind", (client) => client.unbind(binding)],
  ["fetchBinding", (client) => client.fetchBinding("i", "b")],
  ["lastOperation", (client) => client.lastOperation({ instanceId: "i" })],
];

for (const [auth, secrets] of logins) {
  test(`a broker that repeats our ${auth.kind} credentials in its words does not bring them into an error`, async (t) => {
    const said = { error: `Login\u0000${secrets[0]}`, description: `sent: ${secrets.join(" and ")}` };
    const { client } = await broker(t, json(400, said), { auth });
    for (const [verb, call] of verbs) {
      await assert.rejects(call(client), (error) => {
        assert.ok(error instanceof OsbError, verb);
        assert.equal(error.error, "Login [redacted]");
        const shown = inspect(error, { showHidden: true, depth: 10 }) + JSON.stringify(error);
        for (const secret of secrets) assert.ok(!shown.includes(secret), shown);
        return true;
      });
    }
  });
}

test("the words of an operation are one line without credentials and of a length that a condition can carry", async (t) => {
  const auth = { kind: "basic", username: "u", password } as const;
  const words = `bad\u001b[2J\u202e${password}\r\nnext ${"x".repeat(5_000_000)}`;
  const { client } = await broker(t, json(200, { state: "failed", description: words }), { auth });
  const { description } = await client.lastOperation({ instanceId: "i" });
  assert.match(description, /^bad \[2J \[redacted\] next x+…$/);
  assert.equal(description.length, 1_000);
});

test("what a broker answers in the place of a state is named and bounded, not repeated at length", async (t) => {
  const states: readonly (readonly [unknown, RegExp])[] = [
    ["done", /whose state is "done", not/],
    ["x".repeat(100_000), /whose state is "x{99}…", not/],
    [["a"], /whose state is of type object, not/],
    [undefined, /whose state is missing, not/],
  ];
  for (const [state, message] of states) {
    const { client } = await broker(t, json(200, { state }));
    await assert.rejects(client.lastOperation({ instanceId: "i" }), { code: "Garbage", message });
  }
});

test("an operation that is longer than the specification allows is refused: it would not fit where it is kept", async (t) => {
  const { client } = await broker(t, json(202, { operation: "x".repeat(10_001) }));
  for (const call of [() => client.provision(provision), () => client.bind(binding)])
    await assert.rejects(call, { code: "Garbage", message: /operation is longer than 10000 characters/ });
});

test("catalog names that cannot be displayed are refused, and its texts are cut", async (t) => {
  const catalog = (name: string, description: string): object => ({
    services: [{ id: "1", name: "s", description, plans: [{ id: "2", name, description }] }],
  });
  const long = await broker(t, json(200, catalog("x".repeat(501), "")));
  await assert.rejects(long.client.catalog(), {
    code: "Garbage",
    message: /services\[0\]\.plans\[0\]\.name is longer than 500 characters/,
  });
  const wordy = await broker(t, json(200, catalog("small", `a\nb${"x".repeat(3_000)}`)));
  const [service] = (await wordy.client.catalog()).services;
  assert.match(service?.description ?? "", /^a bx+…$/);
  assert.equal(service?.plans[0]?.description.length, 1_000);
});

test("an instance whose plan is no identifier says nothing about its plan", async (t) => {
  const { client } = await broker(t, json(200, { plan_id: "x".repeat(501), service_id: "s" }));
  assert.deepEqual(await client.fetchInstance("i"), { planId: undefined, serviceId: "s" });
});

test("text that is no JSON is not in the error, nor in a cause of it", async (t) => {
  const page = (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(200, { "content-type": "text/html" }).end("<html>secret-of-theirs</html>");
  };
  const { client } = await broker(t, page);
  for (const [verb, call] of verbs) {
    await assert.rejects(call(client), (error) => {
      assert.ok(error instanceof OsbTransportError, verb);
      assert.equal(error.cause, undefined);
      assert.ok(!inspect(error, { showHidden: true, depth: 10 }).includes("secret-of-theirs"));
      return true;
    });
  }
});
