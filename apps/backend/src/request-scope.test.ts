import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogger, faultsOfLine } from "@klutch/telemetry";
import { inRequestScope } from "./request-scope.ts";

async function idsFor(header: string | undefined): Promise<readonly string[]> {
  const lines: string[] = [];
  const logger = createLogger({ name: "backend", write: (line) => lines.push(line) });
  const answer = inRequestScope(async () => {
    logger.info("first");
    await new Promise((resolve) => setTimeout(resolve, 1));
    logger.warn("second");
    return new Response("ok");
  }, undefined);
  const headers: Record<string, string> = header === undefined ? {} : { "x-request-id": header };
  const response = await answer(new Request("http://localhost/secret", { headers }));
  assert.equal(response.status, 200);
  for (const line of lines) assert.deepEqual(faultsOfLine(line), []);
  return lines.map((line) => /"requestID":"([^"]*)"/.exec(line)?.[1] ?? "");
}

test("all lines of one request have its id, and no two requests the same", async () => {
  const [one, other] = await Promise.all([idsFor(undefined), idsFor(undefined)]);
  assert.equal(new Set(one).size, 1);
  assert.equal(new Set([...one, ...other]).size, 2);
  assert.match(one[0] ?? "", /^[0-9a-f-]{36}$/);
});

test("a proxy's id is taken, and a forged one is not", async () => {
  assert.deepEqual(await idsFor("0a1b2c3d-proxy"), ["0a1b2c3d-proxy", "0a1b2c3d-proxy"]);
  for (const forged of ["short", "x".repeat(65), 'a","level":"error', "a b c d e f g h", "12345678<script>"])
    assert.notEqual((await idsFor(forged))[0], forged);
});
