import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTraces, type Round } from "./report.ts";

const round = (isTraced: boolean, rss: number, cpuMs: number): Round => ({
  isTraced,
  claims: 100,
  spans: isTraced ? 1_200 : 0,
  bytes: isTraced ? 480_000 : 0,
  programs: [{ program: "konnector", rss, cpuMs }],
});

test("figures with and without traces stand beside each other, for each claim, with their ratio", () => {
  const text = formatTraces([
    round(false, 90, 300),
    round(true, 99, 600),
    round(false, 90, 300),
    round(true, 99, 600),
  ]);
  const cells = (name: string): readonly string[] =>
    (text.split("\n").find((line) => line.startsWith(`| ${name}`)) ?? "")
      .split("|")
      .map((cell) => cell.trim());
  assert.deepEqual(cells("konnector: RSS").slice(2, 5), ["90.0: 90.0, 90.0", "99.0: 99.0, 99.0", "1.10 ×"]);
  assert.deepEqual(cells("konnector: CPU").slice(2, 5), ["3.0: 3.0, 3.0", "6.0: 6.0, 6.0", "2.00 ×"]);
  assert.match(text, /For each claim 12 spans in 4800 bytes; 0 spans without traces\.$/);
});
