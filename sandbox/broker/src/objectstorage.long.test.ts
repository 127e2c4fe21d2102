/** Object storage through the broker's own API, as the provider uses it: what a person reads when a bucket with objects is deleted. */
import assert from "node:assert/strict";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { waitFor } from "@klutch/kube-testing";
import { createOsbClient } from "@klutch/osb";
import { silentLogger } from "@klutch/telemetry";
import { startBroker } from "./broker.ts";
import { plans } from "./catalog.ts";
import { shortHash } from "./names.ts";
import { auth, place, startFixture } from "./testing/fixture.ts";
import { bucketOf, textsOf } from "./testing/applications.ts";
import { openFolder } from "./testing/servers.ts";

await using stack = new AsyncDisposableStack();
const folder = stack.use(await openFolder());
const { config } = stack.use(await startFixture());
const dataFolder = join(folder.path, "servers");
const broker = stack.use(await startBroker({ ...config, dataFolder }, silentLogger));
const osb = stack.use(createOsbClient({ url: `http://127.0.0.1:${broker.port}`, auth }));
const kept = stack.move();
after(() => kept.disposeAsync());

const nano = plans.find(({ name }) => name === "objectstorage-nano");
assert.ok(nano !== undefined);
const plan = { serviceId: nano.serviceId, planId: nano.id };
const instanceId = "files";

/** Waits for the end of the operation; returns its state and words. */
async function ended(): Promise<{ readonly state: string; readonly description: string }> {
  let found = { state: "gone", description: "" };
  await waitFor("the end of the operation", async () => {
    const answer = await osb.lastOperation({ instanceId }).catch(() => undefined);
    found = { state: answer?.state ?? "gone", description: answer?.description ?? "" };
    return found.state !== "in progress";
  });
  return found;
}

test("a bucket with objects outlives its deletion, which says why, until it is forced", async () => {
  await osb.provision({ ...plan, ...place, instanceId, parameters: { region: "eu-1" } });
  assert.equal((await ended()).state, "succeeded");
  const outcome = await osb.bind({ ...plan, instanceId, bindingId: "app" });
  assert.ok(outcome.kind === "done");
  const credentials = textsOf(outcome.credentials);
  assert.equal(credentials["region"], "eu-1");
  using app = bucketOf(credentials);
  await app.put("a", "1");

  await osb.deprovision({ ...plan, instanceId });
  assert.deepEqual(await ended(), {
    state: "failed",
    description:
      "deprovision failed: instance files is kept: its bucket has 1 object; delete them, or set the parameter delete_objects (deleteObjects of a claim) to true",
  });
  assert.equal(await app.get("a"), "1");

  await osb.unbind({ ...plan, instanceId, bindingId: "app" });
  await assert.rejects(app.get("a"), { name: "InvalidAccessKeyId" });
  await osb.update({ ...plan, instanceId, parameters: { delete_objects: true } });
  assert.equal((await ended()).state, "succeeded");
  const home = join(dataFolder, "objectstorage", shortHash(instanceId));
  await stat(home);
  await osb.deprovision({ ...plan, instanceId });
  assert.equal((await ended()).state, "gone");
  await assert.rejects(stat(home), { code: "ENOENT" });
  assert.deepEqual(await readdir(join(dataFolder, "objectstorage")), ["programs"]);
});

test("parameters that are no names or truths are refused with what would be right", async () => {
  const ask = (parameters: Readonly<Record<string, unknown>>): Promise<unknown> =>
    osb.provision({ ...plan, ...place, instanceId: "wrong", parameters });
  await assert.rejects(
    ask({ region: "EU" }),
    /parameters\.region is "EU", but a name such as eu-central-1 is needed/,
  );
  await assert.rejects(
    ask({ delete_objects: "yes" }),
    /parameters\.delete_objects is "yes", but true or false is needed/,
  );
});
