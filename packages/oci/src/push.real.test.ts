import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { reservePorts, resolveEngine, startProcess } from "@klutch/engines";
import { OciError } from "./errors.ts";
import { pushImage } from "./push.ts";
import { buildXpkg } from "./xpkg.ts";

const run = promisify(execFile);

test("crane validates what was pushed; a registry that refuses is named in the error", async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "klutch-registry-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const { ports } = stack.use(await reservePorts(2));
  const address = `127.0.0.1:${ports[0]}`;
  const crane = await resolveEngine("crane");
  stack.use(
    await startProcess({
      name: "registry",
      command: crane,
      args: ["registry", "serve", "--address", address, "--disk", folder],
      logFile: join(folder, "registry.log"),
      ready: async () => (await fetch(`http://${address}/v2/`)).ok,
    }),
  );
  const image = buildXpkg("apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\n");
  const target = { registry: `http://${address}`, repository: "klutch/x", tag: "v1" };
  await pushImage(image, target);
  await pushImage(image, target);
  await run(crane, ["validate", "--remote", `${address}/klutch/x:v1`]);
  const { stdout } = await run(crane, ["digest", `${address}/klutch/x:v1`]);
  assert.equal(stdout.trim(), image.manifest.digest);
  await assert.rejects(pushImage(image, { ...target, registry: `http://127.0.0.1:${ports[1]}` }), (error) => {
    assert.ok(error instanceof OciError);
    assert.match(error.message, /cannot be reached/);
    return true;
  });
});
