import assert from "node:assert/strict";
import { test } from "node:test";
import { newAnswerKey, newClusterKey, publicKeyOf } from "@klutch/api";
import { UserError } from "../errors.ts";
import { confirmationKeysOf } from "./confirmation-keys.ts";

const { publicKey: ek } = await newAnswerKey();
const ck = publicKeyOf(newClusterKey()) ?? "";

test("both keys are read, and a plugin that sends none cannot confirm", async () => {
  assert.deepEqual(await confirmationKeysOf({ ek, ck }), { answerKey: ek, offeredKey: ck });
  assert.equal(await confirmationKeysOf({}), undefined);
});

test("one key alone, and a key that is none, are refused", async () => {
  for (const query of [{ ek }, { ck }, { ek, ck: "x" }, { ek: "x", ck }, { ek: "", ck }])
    await assert.rejects(
      confirmationKeysOf(query),
      (error) => error instanceof UserError && error.status === 400,
      JSON.stringify(query),
    );
});
