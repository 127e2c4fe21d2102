import assert from "node:assert/strict";
import { test } from "node:test";
import { telling, tellingNumber } from "./rule-text.ts";

test("a rule's message goes on with what was found, and quotes in texts end none", () => {
  const rule = { rule: "self == oldSelf", message: "It isn't changed." };
  assert.deepEqual(telling(rule, 'it is "{oldSelf}", not "{self}"'), {
    ...rule,
    messageExpression: `'It isn\\'t changed: it is "' + (oldSelf) + '", not "' + (self) + '"'`,
  });
  assert.equal(telling(rule, "{self}").messageExpression, `'It isn\\'t changed: ' + (self)`);
});

test("a rule of a number tells the number, whatever its message holds", () => {
  const rule = { rule: "self <= 90", message: "At most 90% is possible." };
  assert.equal(tellingNumber(rule).messageExpression, "'At most 90%% is possible: it is %s'.format([self])");
});
