import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { get } from "node:https";
import { test } from "node:test";
import { createAuthority } from "@klutch/certificates";
import { openEndpoint } from "./endpoint.ts";

test("an endpoint takes TLS and plain HTTP at one port, and a client that does not trust it gets nothing", async () => {
  await using stack = new AsyncDisposableStack();
  const server = createServer((request, response) => {
    request.pipe(response);
  }).listen(0, "127.0.0.1");
  stack.defer(() => void server.close());
  await once(server, "listening");
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  const validity = { now: new Date(), days: 1 };
  const authority = await createAuthority("test authority", validity);
  const subject = { use: "server", name: "test", hosts: ["127.0.0.1"] } as const;
  const certificate = await authority.issue(subject, validity);
  const endpoint = stack.use(
    await openEndpoint("127.0.0.1", new URL(`http://127.0.0.1:${address.port}`), certificate),
  );
  const body = "x".repeat(500_000);
  const plain = await fetch(`http://${endpoint.host}/`, { method: "POST", body });
  assert.equal(await plain.text(), body);
  const answered = (options: object): Promise<number | string | undefined> =>
    new Promise((resolve) => {
      get(`https://${endpoint.host}/`, { agent: false, ...options }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on("error", (error) => resolve("code" in error ? String(error.code) : error.message));
    });
  assert.equal(await answered({ ca: authority.certificate }), 200);
  assert.equal(await answered({}), "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
});
