import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openTree } from "../checks/tree.ts";
import { copyTree } from "./copy.ts";
import { runTests } from "./run-tests.ts";

test("a run stops at the first test that fails, and a hang in a copy is a timeout", async () => {
  const files = [...openTree().paths].filter((file) =>
    /^tools\/(?:test|root)|^package\.json$|^packages\/(?:sync|kube-core|http-client)\//.test(file),
  );
  await using copy = await copyTree(files);
  await mkdir(join(copy.folder, "tools", "x"));
  const write = (name: string, body: string): Promise<void> =>
    writeFile(join(copy.folder, "tools", "x", name), `import { test } from "node:test";\n${body}\n`);
  // The copy's packages find each other, not those of the checkout.
  const found = 'import.meta.resolve("@klutch/sync").includes("/klutch-m-")';
  await write(
    "good.test.ts",
    `test("good", () => { console.log("noise"); if (!${found}) throw new Error(); });`,
  );
  await write(
    "bad.test.ts",
    'test("bad", () => { throw new Error("x"); });\ntest("endless", () => new Promise((end) => setTimeout(end, 1e9)));',
  );
  await write("endless.test.ts", 'test("endless", () => { for (;;); });');
  await write("broken.test.ts", 'throw new Error("not loaded");');
  const run = (name: string, silentMs: number): ReturnType<typeof runTests> =>
    runTests(copy, [`tools/x/${name}.test.ts`], { silentMs, signal: new AbortController().signal });
  const caught = async (name: string, silentMs = 120_000): Promise<string | undefined> =>
    (await run(name, silentMs)).caughtBy;
  assert.equal(await caught("good"), undefined);
  assert.equal(await caught("bad"), "tools/x/bad.test.ts: bad");
  assert.equal(await caught("endless", 1_000), "timeout");
  assert.notEqual(await caught("broken"), undefined);
});
