import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "@klutch/kube-testing";
import { silentLogger } from "@klutch/telemetry";
import { MappingProofs } from "./mapping-proofs.ts";

/** Answers in turn; `undefined` is an error. */
function proofsWith(
  clock: VirtualClock,
  answers: (string | undefined)[],
): { proofs: MappingProofs; asked: string[] } {
  const asked: string[] = [];
  const proofs = new MappingProofs(
    (namespace) => {
      asked.push(namespace);
      const answer = answers.shift();
      return answer === undefined ? Promise.reject(new Error("unreachable")) : Promise.resolve(answer);
    },
    clock,
    silentLogger,
  );
  return { proofs, asked };
}

test("a service namespace is asked once, and again after it was forgotten", async () => {
  const { proofs, asked } = proofsWith(new VirtualClock(), ["a/one", "a/two"]);
  const answered: (string | undefined)[] = [];
  const request = (): void =>
    proofs.request(
      "ns",
      () => true,
      () => answered.push(proofs.get("ns")),
    );
  request();
  request();
  await new Promise((resolve) => setImmediate(resolve));
  proofs.forget("ns");
  request();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(answered, ["a/one", "a/two"]);
  assert.deepEqual(asked, ["ns", "ns"]);
});

test("after an error it is asked again in ten seconds, but not when the proofs were disposed", async () => {
  const clock = new VirtualClock();
  const { proofs, asked } = proofsWith(clock, [undefined, undefined, "a/one"]);
  proofs.request(
    "ns",
    () => true,
    () => {},
  );
  await clock.advance(10_000);
  assert.equal(asked.length, 2);
  proofs[Symbol.dispose]();
  await clock.advance(60_000);
  assert.equal(asked.length, 2);
});
