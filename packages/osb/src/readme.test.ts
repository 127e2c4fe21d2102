import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { type Alter, credentials, startFakeServer } from "@klutch/osb-conformance/testing";
import { order } from "./testing/examples/order.ts";
import { provisionOrNothing } from "./testing/examples/provision-or-nothing.ts";
import { broker, json } from "./testing/fake-broker.ts";

const request = { instanceId: "i", serviceId: "s", planId: "p", organizationGuid: "o", spaceGuid: "s" };

test("the examples of the README are the files that these tests run", async () => {
  const readme = await readFile(join(import.meta.dirname, "../README.md"), "utf8");
  const folder = join(import.meta.dirname, "testing/examples");
  const files = await readdir(folder);
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")));
  const blocks = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block]) => block);
  assert.deepEqual(new Set(blocks), new Set(texts));
});

/** The example polls as it is shown, every two seconds unless the broker says when; a real one says whole seconds. */
const askAgainSoon: Alter = (answer) => ({
  ...answer,
  headers: { ...answer.headers, "retry-after": "0.01" },
});

test("the first example orders a database and gets its credentials, at once or in time", async (t) => {
  for (const asynchronous of [false, true]) {
    const { url, memory } = await startFakeServer(t, { asynchronous, alter: askAgainSoon });
    const got = await order(url, credentials.password);
    assert.ok(Object.keys(got).length > 0);
    assert.equal(memory.things.size, 2);
  }
});

test("the example of orphans deletes what may be left, and nothing after a refusal", async (t) => {
  const cases: readonly (readonly [number, string, RegExp])[] = [
    [422, "PUT", /does not want to: Full/],
    [408, "PUT", /ask once more/],
    [500, "PUT DELETE", /^Error: Full|Full/],
  ];
  for (const [status, methods, message] of cases) {
    const { client, requests } = await broker(t, (asked, response) =>
      json(asked.method === "PUT" ? status : 200, { error: "Full" })(asked, response),
    );
    await assert.rejects(provisionOrNothing(client, request), { message });
    assert.equal(requests.map(({ method }) => method).join(" "), methods);
  }
});
