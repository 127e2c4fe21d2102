/** The question to RBAC when the API server is slow or down, and when many ask at once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeClient } from "@klutch/kube";
import { systemClock } from "@klutch/kube";
import { VirtualClock } from "@klutch/kube-testing";
import { UserError } from "../errors.ts";
import { createMayBind } from "./bind-rights.ts";

const ann = { user: "oidc:ann", groups: ["oidc:team-a"] };
const template = { namespace: "default", name: "databases" };
const { signal } = new AbortController();

/** A client that only answers reviews: the real API server cannot be made slow on demand. */
function answering(answer: (signal: AbortSignal | undefined) => Promise<unknown>): KubeClient {
  return {
    create: (_type: unknown, _object: unknown, options?: { signal?: AbortSignal }) => answer(options?.signal),
  } as unknown as KubeClient;
}
const isClosed = (error: unknown): boolean =>
  error instanceof UserError &&
  error.status === 503 &&
  /who may bind what, so nothing can be bound/.test(error.message);

test("an API server that is down or does not answer means no, with words, and is asked again the next time", async () => {
  let calls = 0;
  const down = createMayBind({
    client: answering(() => (calls++, Promise.reject(new Error("connection refused")))),
    clock: systemClock,
  });
  for (let attempt = 0; attempt < 2; attempt++) await assert.rejects(down(ann, template, signal), isClosed);
  assert.equal(calls, 2);
  const hanging = (given: AbortSignal | undefined): Promise<unknown> =>
    new Promise((_, reject) => given?.addEventListener("abort", () => reject(given.reason as Error)));
  const slow = createMayBind({ client: answering(hanging), clock: systemClock, timeoutMs: 20 });
  await assert.rejects(slow(ann, template, signal), isClosed);
});

test("an answer without the word allowed is a no", async () => {
  for (const status of [{}, { allowed: "true" }, { allowed: false }, undefined]) {
    const mayBind = createMayBind({
      client: answering(() => Promise.resolve({ status })),
      clock: systemClock,
    });
    assert.equal(await mayBind(ann, template, signal), false);
  }
});

test("ten thousand questions at once about ten things are ten reviews, and an answer holds ten seconds", async () => {
  const clock = new VirtualClock();
  let reviews = 0;
  let allowed = true;
  const client = answering(() => (reviews++, Promise.resolve({ status: { allowed } })));
  const mayBind = createMayBind({ client, clock });
  const questions = Array.from({ length: 10_000 }, (_, index) =>
    mayBind(ann, { ...template, name: `t${index % 10}` }, signal),
  );
  assert.ok((await Promise.all(questions)).every((one) => one));
  assert.equal(reviews, 10);
  allowed = false;
  assert.equal(await mayBind(ann, { ...template, name: "t1" }, signal), true);
  await clock.advance(10_000);
  assert.equal(await mayBind(ann, { ...template, name: "t1" }, signal), false);
  assert.equal(await mayBind({ ...ann, groups: [] }, { ...template, name: "t1" }, signal), false);
});
