import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { createLogger, type LoggerOptions, silentLogger } from "./logger.ts";

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
    { level: "info", time: "", component: "part", cluster: "consumer", name: "a", msg: "object synced" },
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

test("a chain of causes that leads back to itself, or is very long, ends and does not end the process", () => {
  const { lines, logger } = capture();
  const circle = new Error("one");
  circle.cause = new Error("two", { cause: circle });
  logger.error("failed", { error: circle });
  let long = new Error("0");
  for (let depth = 1; depth < 100_000; depth++) long = new Error(`${depth}`, { cause: long });
  logger.error("failed", { error: long });
  assert.equal(lines.length, 2);
  assert.match(JSON.stringify(lines[0]), /"one".*"two"/);
});

test("whatever is thrown is logged as text, and never more than its text", () => {
  const { lines, logger } = capture();
  for (const error of ["text", 7, undefined, null, { status: 404, token: "hunter2" }])
    logger.warn("failed", { error });
  assert.equal(lines.length, 5);
  assert.doesNotMatch(JSON.stringify(lines), /hunter2/);
  assert.match(JSON.stringify(lines[0]), /"error":"text"/);
});

test("fields of a child are in each of its lines and in no line of its parent", () => {
  const { lines, logger } = capture();
  const child = logger.child({ controller: "a" }).child({ key: "ns/b" });
  child.warn("one");
  logger.warn("two");
  assert.match(JSON.stringify(lines[0]), /"controller":"a","key":"ns\/b"/);
  assert.doesNotMatch(JSON.stringify(lines[1]), /controller|key/);
});

test("each severity writes its own level, with fields or without", () => {
  const { lines, logger } = capture({ level: "debug" });
  for (const level of ["debug", "info", "warn", "error"] as const) {
    logger[level]("bare");
    logger[level]("with fields", { key: level });
  }
  const written = lines.map((line) => {
    assert.ok(typeof line === "object" && line !== null && "level" in line && "msg" in line);
    return [line.level, line.msg, "key" in line ? line.key : undefined];
  });
  assert.deepEqual(
    written,
    ["debug", "info", "warn", "error"].flatMap((level) => [
      [level, "bare", undefined],
      [level, "with fields", level],
    ]),
  );
});

test("lines go to standard error unless configured, and none is lost when the process ends at once", async () => {
  const program = `
    import { createLogger, silentLogger } from ${JSON.stringify(import.meta.resolve("./logger.ts"))};
    const logger = createLogger({ name: "part" });
    for (let index = 0; index < 100; index++) logger.info("counted", { index });
    for (const level of ["debug", "info", "warn", "error"]) silentLogger.child({})[level]("never");
    process.exit(0);`;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    "--input-type=module",
    "--eval",
    program,
  ]);
  assert.equal(stdout, "");
  const lines = stderr.trimEnd().split("\n");
  assert.equal(lines.length, 100);
  assert.match(lines.at(-1) ?? "", /"component":"part".*"index":99/);
});

test("the silent logger is its own child", () => {
  assert.equal(silentLogger.child({ key: "a" }), silentLogger);
});
