/**
 * Tests logins while the replicas of the backend are replaced one after the other, as in a rollout: the new one is ready, new connections no
 * longer reach the old one, then it is told to end. A wire plays the Service.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { waitFor } from "@klutch/kube-testing";
import { TestBrowser } from "../testing/browser.ts";
import { prepareReplicas } from "../testing/replicas.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { service, start } = await prepareReplicas(stack, "handover");

/** A whole login, from the plugin's first request to its answer. */
async function logIn(person: string): Promise<void> {
  const browser = new TestBrowser();
  const form = await browser.go(`${service.url}/authorize?s=session1&c=${person}&p=4321`);
  const page = await browser.submit(form, 'name="password"', { login: person, password: "x" });
  const answer = await browser.submit(page, 'value="databases"', {}, "http://localhost:4321");
  assert.deepEqual([answer.status, answer.url.searchParams.has("response")], [303, true], answer.html);
}

/** Logs in again and again until the signal aborts, and writes down what failed. */
async function keepLoggingIn(
  person: string,
  seen: { count: number; failed: unknown[] },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await logIn(person).catch((error: unknown) => seen.failed.push(error));
    seen.count++;
  }
}

test("no login fails while the replicas of the backend are replaced", async (t) => {
  let old = await start("backend-0");
  service.route(old.url);
  const seen = { count: 0, failed: [] as unknown[] };
  const stop = new AbortController();
  const people = ["ann", "bob", "cleo"].map((person) => keepLoggingIn(person, seen, stop.signal));
  for (let round = 1; round <= 3; round++) {
    const next = await start(`backend-${round}`);
    service.route(next.url);
    const enough = seen.count + 3;
    await Promise.all([old.stop(), waitFor("more logins", () => seen.count >= enough)]);
    old = next;
  }
  stop.abort();
  await Promise.all(people);
  t.diagnostic(`${seen.count} logins, ${seen.failed.length} failed`);
  assert.deepEqual(seen.failed, []);
});
