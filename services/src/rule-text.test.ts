import assert from "node:assert/strict";
import { test } from "node:test";
import { telling } from "./rule-text.ts";

test("a rule's message goes on with what was found, and quotes in texts end none", () => {
  const rule = { rule: "self == oldSelf", message: "It isn't changed." };
  assert.deepEqual(telling(rule, 'it is "{oldSelf}", not "{self}"'), {
    ...rule,
    messageExpression: `'It isn\\'t changed: it is "' + (oldSelf) + '", not "' + (self) + '"'`,
  });
  assert.equal(telling(rule, "{self}").messageExpression, `'It isn\\'t changed: ' + (self)`);
});
