import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { createLogger } from "./logger.ts";
import { Secret } from "./secret.ts";

const secret = new Secret("hunter2");

test("a secret does not show in text, JSON, inspection or a log line", () => {
  const lines: string[] = [];
  const logger = createLogger({ name: "test", write: (line) => lines.push(line) });
  logger.info("signed in", { password: secret, nested: { password: secret } });
  const texts = [
    `${String(secret)}`,
    JSON.stringify({ secret }),
    inspect({ secret }, { showHidden: true }),
    ...lines,
  ];
  for (const text of texts) assert.ok(!text.includes("hunter2"), text);
  assert.equal(lines.length, 1);
});

test("a secret gives its value to the one place that asks", () => {
  assert.equal(secret.reveal(), "hunter2");
});
