import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "@klutch/kube-testing";
import { createAuthority, digestOf, type Question } from "./authority.ts";

const question: Question = {
  authorization: "Bearer red",
  verb: "watch",
  group: "a.b",
  plural: "widgets",
  namespace: "n",
};

function stage(answer: (authorization: string) => { status: number; text: string }) {
  const clock = new VirtualClock();
  const asked: { readonly authorization: string; readonly attributes: unknown }[] = [];
  const authority = createAuthority({
    clock,
    most: 3,
    transport: {
      async exchange({ headers, body }) {
        const authorization = headers?.["authorization"] ?? "";
        const { spec } = JSON.parse(String(body)) as { spec: { resourceAttributes: unknown } };
        asked.push({ authorization, attributes: spec.resourceAttributes });
        return { retryAfter: undefined, ...answer(authorization) };
      },
    },
  });
  return { clock, asked, authority };
}
const allowed = { status: 201, text: '{"status":{"allowed":true}}' };

test("the question is asked with the tenant's own token, and its answer counts for ten seconds", async () => {
  const { clock, asked, authority } = stage(() => allowed);
  assert.equal(await authority(question), "allowed");
  assert.equal(await authority(question), "allowed");
  const attributes = { verb: "watch", group: "a.b", resource: "widgets", namespace: "n" };
  assert.deepEqual(asked, [{ authorization: "Bearer red", attributes }]);
  await clock.advance(10_000);
  await authority(question);
  assert.equal(asked.length, 2);
});

test("an answer counts for its own token, verb, resource and namespace only", async () => {
  const { asked, authority } = stage((token) =>
    token === "Bearer red" ? allowed : { status: 401, text: "" },
  );
  assert.equal(await authority(question), "allowed");
  assert.equal(await authority({ ...question, authorization: "Bearer redd" }), "unauthorized");
  for (const other of [
    { verb: "list" },
    { plural: "gadgets" },
    { namespace: "m" },
    { namespace: undefined },
  ] as const)
    await authority({ ...question, ...other });
  assert.equal(asked.length, 6);
  assert.doesNotMatch(JSON.stringify(asked.at(-1)?.attributes), /namespace/);
});

test("anything but a plain yes is no", async () => {
  const answers: readonly [answer: { status: number; text: string }, right: string][] = [
    [{ status: 201, text: '{"status":{"allowed":false}}' }, "denied"],
    [{ status: 201, text: '{"status":{"allowed":"true"}}' }, "denied"],
    [{ status: 201, text: '{"allowed":true}' }, "denied"],
    [{ status: 201, text: "<html>" }, "denied"],
    [{ status: 403, text: '{"status":{"allowed":true}}' }, "unknown"],
    [{ status: 429, text: "" }, "unknown"],
    [{ status: 500, text: '{"status":{"allowed":true}}' }, "unknown"],
  ];
  for (const [answer, right] of answers)
    assert.equal(await stage(() => answer).authority(question), right, answer.text);
});

test("only a yes is remembered, and the memory is bounded", async () => {
  let answer = { status: 500, text: "" };
  const { asked, authority } = stage(() => answer);
  assert.equal(await authority(question), "unknown");
  answer = { status: 201, text: '{"status":{"allowed":false}}' };
  assert.equal(await authority(question), "denied");
  answer = allowed;
  assert.equal(await authority(question), "allowed");
  for (let index = 0; index < 3; index++) await authority({ ...question, namespace: `n${index}` });
  await authority(question);
  assert.equal(asked.length, 7, "the oldest of four answers has gone");
});

test("the name of a token does not contain it", () => {
  assert.doesNotMatch(digestOf("Bearer red"), /red/);
  assert.notEqual(digestOf("Bearer red"), digestOf("Bearer blue"));
});
