import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { createLogger } from "./logger.ts";
import { faultsOfLine, logFields } from "./log-schema.ts";

test("a logger's own lines fit", () => {
  const lines: string[] = [];
  const logger = createLogger({ name: "part", level: "debug", write: (line) => lines.push(line) });
  logger.info("a", { cluster: "one" });
  logger.error("b", { error: new Error("c") });
  logger.warn("d", { error: "text" });
  for (const line of lines) assert.deepEqual(faultsOfLine(line), [], line);
});

test("lines that name the same things otherwise do not", () => {
  const good = { time: "2026-11-28T17:00:00.000Z", level: "info", component: "a", msg: "b" };
  const faults = (change: object): readonly string[] => faultsOfLine(JSON.stringify({ ...good, ...change }));
  assert.deepEqual(faults({}), []);
  const reconcileID = "a3f1c1de-1111-4222-8333-123456789abc";
  const reconcile = { reconcileID, key: "a/b", controller: "c", reasons: ["d"] };
  assert.deepEqual(faults({ ...reconcile, object: { kind: "A", namespace: "a", name: "b" } }), []);
  for (const change of [
    { time: 1 },
    { time: "yesterday" },
    { level: "INFO" },
    { component: undefined },
    { msg: undefined },
    { reconcileID },
    { ...reconcile, reasons: "d" },
    { ...reconcile, object: "a/b" },
    { ...reconcile, object: { kind: "A", name: "b", uid: "c" } },
    { reconcileId: reconcileID },
    { logger: "a" },
    { requestId: "12345678" },
    { requestID: 'a"b' },
    { traceID: "0AF7" },
    { traceId: "0af7651916cd43dd8448eb211c80319c" },
    { err: "e" },
    { error: 5 },
  ])
    assert.notDeepEqual(faults(change), [], JSON.stringify(change));
  assert.notDeepEqual(faultsOfLine("not JSON"), []);
  assert.notDeepEqual(faultsOfLine("[]"), []);
});

test("the page has each field with its words", async () => {
  const page = await readFile(new URL("../../../docs/reference/logs.md", import.meta.url), "utf8");
  const rows = logFields.map(
    ({ name, type, on, help }) =>
      `| \`${name}\` | ${type} | ${on === "each" ? "everything" : on} | ${help} |`,
  );
  for (const row of rows) assert.ok(page.includes(row), row);
  assert.equal(page.split("\n").filter((line) => line.startsWith("| `")).length, rows.length);
});
