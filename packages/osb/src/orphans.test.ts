import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { test } from "node:test";
import type { OsbClient } from "./client.ts";
import { mayHaveLeftOrphan, needsOrphanMitigation, OsbTransportError } from "./errors.ts";
import { broker, json } from "./testing/fake-broker.ts";

const plan = { serviceId: "s", planId: "p" };
const creates: readonly (readonly [string, (client: OsbClient) => Promise<unknown>])[] = [
  [
    "provision",
    (client) => client.provision({ ...plan, instanceId: "i", organizationGuid: "o", spaceGuid: "s" }),
  ],
  ["bind", (client) => client.bind({ ...plan, instanceId: "i", bindingId: "b" })],
];
const page = (status: number) => (_request: IncomingMessage, response: ServerResponse) => {
  response.writeHead(status, { "content-type": "text/html" }).end("<html>");
};

/** The rows of OSB 2.17 "Orphan Mitigation" that mean failure: the answer, and whether what it left must be deleted. */
const rows: readonly (readonly [
  string,
  (request: IncomingMessage, response: ServerResponse) => void,
  boolean,
])[] = [
  ["200 with a malformed body", page(200), false],
  ["201 with a malformed body", page(201), true],
  ["202 with a malformed body", page(202), true],
  ["202 with an operation that is none", json(202, { operation: 3 }), true],
  ["203, which is no success here", json(203, { credentials: {} }), true],
  ["204, which is no success here", (_request, response) => response.writeHead(204).end(), true],
  ["408", json(408, {}), false],
  ["400", json(400, {}), false],
  ["409", json(409, {}), false],
  ["422", json(422, { error: "ConcurrencyError" }), false],
  ["429", json(429, {}), false],
  ["500", json(500, {}), true],
  ["503 of a proxy", page(503), true],
  ["half an answer", (request) => request.socket.destroy(), true],
  ["no answer in time", () => undefined, true],
];
for (const [what, handle, needs] of rows) {
  for (const [verb, call] of creates) {
    test(`after ${what} to ${verb} what was made ${needs ? "must be" : "need not be"} deleted`, async (t) => {
      const config = what === "no answer in time" ? { timeoutMs: 300 } : {};
      const { client } = await broker(t, handle, config);
      await assert.rejects(call(client), (error) => {
        assert.equal(needsOrphanMitigation(error), needs, String(error));
        // Whatever must be deleted may be there.
        if (needs) assert.ok(mayHaveLeftOrphan(error));
        return true;
      });
    });
  }
}

test("a request that was never sent needs no mitigation, nor does an error of other origin", () => {
  for (const code of ["Unreachable", "Tls", "NotSent", "Login"] as const)
    assert.ok(!needsOrphanMitigation(new OsbTransportError(code, "")), code);
  assert.ok(!needsOrphanMitigation(new Error("the lease is lost")));
});

test("a bind with 201 and without credentials must be undone, with 200 it is there and only not told", async (t) => {
  for (const status of [200, 201]) {
    const { client } = await broker(t, json(status, {}));
    await assert.rejects(client.bind({ ...plan, instanceId: "i", bindingId: "b" }), (error) => {
      assert.ok(error instanceof OsbTransportError);
      assert.equal(error.status, status);
      assert.equal(needsOrphanMitigation(error), status === 201);
      return true;
    });
  }
});
