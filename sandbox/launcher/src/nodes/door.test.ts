import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { get } from "node:https";
import { test } from "node:test";
import { certificateFor, newAuthority } from "./certificate.ts";
import { openDoor } from "./door.ts";

test("a door takes TLS and plain HTTP at one port, and a client that does not trust it gets nothing", async () => {
  await using stack = new AsyncDisposableStack();
  const server = createServer((request, response) => {
    request.pipe(response);
  }).listen(0, "127.0.0.1");
  stack.defer(() => void server.close());
  await once(server, "listening");
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  const authority = await newAuthority(new Date());
  const certificate = await certificateFor(authority, "127.0.0.1", new Date());
  const door = stack.use(
    await openDoor("127.0.0.1", new URL(`http://127.0.0.1:${address.port}`), certificate),
  );
  const body = "x".repeat(500_000);
  const plain = await fetch(`http://${door.host}/`, { method: "POST", body });
  assert.equal(await plain.text(), body);
  const answered = (options: object): Promise<number | string | undefined> =>
    new Promise((resolve) => {
      get(`https://${door.host}/`, { agent: false, ...options }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on("error", (error) => resolve("code" in error ? String(error.code) : error.message));
    });
  assert.equal(await answered({ ca: authority.certificate }), 200);
  assert.equal(await answered({}), "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
});
