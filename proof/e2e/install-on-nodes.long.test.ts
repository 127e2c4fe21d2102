/**
 * `npm run sandbox -- --nodes`, which types docs/install.md word for word on real nodes. Needs root, control groups and apt's network. Without the
 * demo, which is the same as on processes, and would take another minute.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { whyUnfit } from "@klutch/nodes";
import { startSandbox } from "./own-sandbox.ts";

test("the lines of install.md lead from empty clusters to a database that a Pod of the app cluster writes to, all in Pods", {
  skip: (await whyUnfit(3)) ?? false,
  timeout: 540_000,
}, async (t) => {
  const sandbox = startSandbox({ env: process.env, args: ["--nodes", "--no-demo", "--exit"] });
  t.after(async () => {
    sandbox.child.kill("SIGINT");
    await sandbox.exited;
  });
  await sandbox.exited;
  const text = sandbox.printed();
  assert.equal(sandbox.child.exitCode, 0, text);
  for (const line of [
    /^.* docs\/release\.md: Install the plugin: done/m,
    /^.* docs\/install\.md: 5\. Bind an app cluster, app cluster B: done/m,
    /^.* docs\/install\.md: 6\. The first claim: done/m,
    /its database says: Hello from a Pod of app cluster A$/m,
    /MiB {2}Pod klutch-bind\/konnector-\S+$/m,
    /MiB {2}Pod klutch-backend\/klutch-backend-\S+$/m,
    /MiB {2}Pod crossplane-system\/klutch-provider-anynines-\S+$/m,
    /MiB {2}Pod dex\/dex-\S+$/m,
  ])
    assert.match(text, line);
});
