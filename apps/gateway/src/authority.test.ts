import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "@klutch/kube-testing";
import { createAuthority, type Question } from "./authority.ts";
import { digestOf, phaseOf } from "./digest.ts";

const question: Question = {
  authorization: "Bearer red",
  verb: "watch",
  group: "a.b",
  plural: "widgets",
  namespace: "n",
};

interface Answered {
  readonly status: number;
  readonly text: string;
}
const none: Answered = { status: 403, text: "" };

function stage(answer: (authorization: string) => Answered, rules: () => Answered = () => none) {
  const clock = new VirtualClock();
  const asked: { readonly authorization: string; readonly attributes: unknown }[] = [];
  const listed: unknown[] = [];
  const authority = createAuthority({
    clock,
    most: 3,
    transport: {
      async exchange({ path, headers, body }) {
        const authorization = headers?.["authorization"] ?? "";
        const { spec } = JSON.parse(String(body)) as { spec: { resourceAttributes: unknown } };
        if (path.endsWith("/selfsubjectrulesreviews")) {
          listed.push([authorization, spec]);
          return { retryAfter: undefined, ...rules() };
        }
        asked.push({ authorization, attributes: spec.resourceAttributes });
        return { retryAfter: undefined, ...answer(authorization) };
      },
    },
  });
  return { clock, asked, listed, authority };
}

/** An answer with rules. */
function rulesOf(resourceRules: unknown, incomplete: unknown = false): Answered {
  return {
    status: 201,
    text: JSON.stringify({ status: { incomplete, nonResourceRules: [], resourceRules } }),
  };
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

const whole = { verbs: ["list", "watch"], apiGroups: ["a.b"], resources: ["widgets", "gadgets"] };

test("one answer for a namespace does for all kinds there, and for ten seconds", async () => {
  const { clock, asked, listed, authority } = stage(
    () => allowed,
    () => rulesOf([whole]),
  );
  for (const plural of ["widgets", "gadgets", "widgets"])
    for (const verb of ["list", "watch"] as const)
      assert.equal(await authority({ ...question, plural, verb }), "allowed");
  assert.deepEqual(listed, [["Bearer red", { namespace: "n" }]]);
  assert.equal(asked.length, 0);
  await clock.advance(10_000);
  await authority(question);
  assert.equal(listed.length, 2);
  await authority({ ...question, namespace: "m" });
  await authority({ ...question, authorization: "Bearer blue" });
  assert.equal(listed.length, 4);
  await authority({ ...question, namespace: undefined });
  assert.equal(listed.length, 4, "rules of one namespace say nothing about all of them");
});

test("a rule that does not hold for the whole kind, and a list that is not whole, allow nothing", async () => {
  const refused = { status: 201, text: '{"status":{"allowed":false}}' };
  for (const rules of [
    rulesOf([{ ...whole, resourceNames: ["one"] }]),
    rulesOf([{ ...whole, resourceNames: "one" }]),
    rulesOf([{ ...whole, verbs: ["get"] }]),
    rulesOf([{ ...whole, apiGroups: [""] }]),
    rulesOf([{ ...whole, resources: ["widgets/status"] }]),
    rulesOf([{ ...whole, verbs: "*" }]),
    rulesOf([whole], true),
    rulesOf([whole], null),
    rulesOf({ 0: whole }),
    { status: 201, text: "<html>" },
    { status: 500, text: rulesOf([whole]).text },
  ]) {
    const { asked, authority } = stage(
      () => refused,
      () => rules,
    );
    assert.equal(await authority(question), "denied", rules.text);
    assert.equal(asked.length, 1);
  }
  const wide = { verbs: ["*"], apiGroups: ["*"], resources: ["*"], resourceNames: [] };
  assert.equal(
    await stage(
      () => refused,
      () => rulesOf([wide]),
    ).authority(question),
    "allowed",
  );
});

test("the questions of one token come together, and those of many are spread", () => {
  const phases = Array.from({ length: 200 }, (_, index) => phaseOf(`Bearer ${index}`, 60_000));
  assert.equal(phaseOf("Bearer 7", 60_000), phases[7]);
  assert.ok(phases.every((phase) => phase >= 0 && phase < 60_000));
  const filled = new Set(phases.map((phase) => Math.floor(phase / 6_000)));
  assert.equal(filled.size, 10);
});

test("the name of a token does not contain it", () => {
  assert.doesNotMatch(digestOf("Bearer red"), /red/);
  assert.notEqual(digestOf("Bearer red"), digestOf("Bearer blue"));
});
