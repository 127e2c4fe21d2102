import assert from "node:assert/strict";
import { test } from "node:test";
import { getRequestListener } from "@hono/node-server";
import { isUnavailable } from "./failures.ts";

/** The class that `fetch` answers with, whatever the global one is by now. */
const FetchResponse = (await fetch("data:,")).constructor as typeof Response;

test("an answer of the identity provider is recognized after the HTTP server has replaced the global Response", () => {
  const answered = (status: number): Error =>
    new Error("unexpected HTTP response status code", { cause: new FetchResponse(null, { status }) });
  const [down, refused] = [answered(503), answered(400)];
  // What serving does first.
  getRequestListener(() => new Response());
  assert.ok(!(down.cause instanceof Response), "the class was not replaced: the test shows nothing");
  assert.deepEqual([down, refused].map(isUnavailable), [true, false]);
});
