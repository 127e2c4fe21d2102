import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "@klutch/kube-testing";
import { createAccountOf } from "./account.ts";

function stage(answer: (authorization: string) => { readonly status: number; readonly text: string }) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const accountOf = createAccountOf({
    clock,
    transport: {
      async exchange({ path, headers }) {
        assert.equal(path, "/apis/authentication.k8s.io/v1/selfsubjectreviews");
        const authorization = headers?.["authorization"] ?? "";
        asked.push(authorization);
        return { retryAfter: undefined, ...answer(authorization) };
      },
    },
  });
  return { clock, asked, accountOf };
}

const named = (username: unknown): { readonly status: number; readonly text: string } => ({
  status: 201,
  text: JSON.stringify({ status: { userInfo: { username } } }),
});

test("two tokens of one account are one account, and the API server is asked once for each", async () => {
  const { asked, accountOf } = stage((token) => named(token === "Bearer c" ? "blue" : "red"));
  const [a, b, c] = [await accountOf("Bearer a"), await accountOf("Bearer b"), await accountOf("Bearer c")];
  assert.deepEqual(a, b);
  assert.notDeepEqual(a, c);
  await accountOf("Bearer a");
  assert.deepEqual(asked, ["Bearer a", "Bearer b", "Bearer c"]);
  assert.ok(!JSON.stringify(a).includes("red"), "a name is kept as a digest");
});

test("a token that the API server does not know is no account, and is asked about again", async () => {
  let status = 401;
  const { asked, accountOf } = stage(() => ({ ...named("red"), status }));
  assert.equal(await accountOf("Bearer a"), "unauthorized");
  status = 201;
  assert.notEqual(await accountOf("Bearer a"), "unauthorized");
  assert.equal(asked.length, 2);
});

test("without a usable name each token stands for itself until the API server tells one", async () => {
  for (const answer of [
    { status: 429, text: "" },
    { status: 403, text: "{}" },
    { status: 201, text: "no JSON" },
    named(""),
    named(7),
    // Callers without a name must not share one limit.
    named("system:anonymous"),
  ]) {
    const { asked, accountOf } = stage(() => answer);
    assert.notDeepEqual(await accountOf("Bearer a"), await accountOf("Bearer b"));
    await accountOf("Bearer a");
    assert.equal(asked.length, 3, "an answer without a name is not kept");
  }
});

test("an API server that gives no answer stops no request", async () => {
  const { accountOf } = stage(() => {
    throw new Error("connection refused");
  });
  assert.notEqual(await accountOf("Bearer a"), "unauthorized");
});
