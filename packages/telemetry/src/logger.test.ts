import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogger, type LoggerOptions } from "./logger.ts";

function capture(options: Partial<LoggerOptions> = {}): {
  lines: unknown[];
  logger: ReturnType<typeof createLogger>;
} {
  const lines: unknown[] = [];
  const logger = createLogger({ name: "part", write: (line) => lines.push(JSON.parse(line)), ...options });
  return { lines, logger };
}

test("a line carries level, time, part, message and the given keys", () => {
  const { lines, logger } = capture();
  logger.child({ cluster: "consumer" }).info("object synced", { name: "a" });
  const [line] = lines;
  assert.ok(typeof line === "object" && line !== null && "time" in line);
  assert.match(String(line.time), /^\d{4}-\d\d-\d\dT/);
  assert.deepEqual(
    { ...line, time: "" },
    { level: "info", time: "", logger: "part", cluster: "consumer", name: "a", msg: "object synced" },
  );
});

test("an error is logged with its chain of causes but without its fields, which may hold a request", () => {
  const { lines, logger } = capture();
  const cause = Object.assign(new Error("inner"), { headers: { authorization: "Bearer hunter2" } });
  logger.error("request failed", { error: new Error("outer", { cause }) });
  const text = JSON.stringify(lines);
  assert.match(text, /outer/);
  assert.match(text, /inner/);
  assert.doesNotMatch(text, /hunter2/);
});

test("a cause that is not an error, such as a query with a code, is not logged", () => {
  const { lines, logger } = capture();
  logger.info("refused", {
    error: new Error("login failed", { cause: new URLSearchParams("code=hunter2") }),
  });
  assert.doesNotMatch(JSON.stringify(lines), /hunter2/);
});

test("lines below the level are not written", () => {
  const { lines, logger } = capture({ level: "warn" });
  logger.info("no");
  logger.warn("yes");
  assert.equal(lines.length, 1);
});
