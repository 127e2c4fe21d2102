import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { DynamicObject, ResourceType } from "@klutch/kube-core";
import { systemClock } from "@klutch/kube";
import { ApiServerModel } from "@klutch/kube-testing";
import { applyAll, conditionOf, readManifests, waitForConditions } from "./objects.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-objects-"));
after(() => rm(folder, { recursive: true, force: true }));

const crates: ResourceType = {
  group: "example.org",
  version: "v1",
  plural: "crates",
  kind: "Crate",
  namespaced: false,
};
const crate = (name: string, status?: object): DynamicObject => ({
  apiVersion: "example.org/v1",
  kind: "Crate",
  metadata: { name },
  ...(status === undefined ? {} : { status }),
});
const conditions = (...list: readonly (readonly [string, string])[]): object => ({
  conditions: list.map(([type, status]) => ({ type, status })),
});

test("manifests of a folder come in the order of their files, without documents that are not objects", async () => {
  const place = join(folder, "manifests");
  await mkdir(place);
  await writeFile(join(place, "b.yaml"), "kind: Second\nmetadata: {name: b}\n");
  await writeFile(
    join(place, "a.yaml"),
    "# a comment\n---\nkind: First\nmetadata: {name: a}\n---\n---\nkind: List\nitems: []\n",
  );
  await writeFile(join(place, "notes.txt"), "kind: Not\nmetadata: {}\n");
  const kinds = async (path: string): Promise<readonly string[]> =>
    (await readManifests(path)).map(({ kind }) => kind);
  assert.deepEqual(await kinds(place), ["First", "Second"]);
  assert.deepEqual(await kinds(join(place, "b.yaml")), ["Second"]);
  await assert.rejects(readManifests(join(folder, "absent")), /ENOENT/);
});

test("objects are applied in order, and a kind that is not served yet is waited for", async () => {
  const server = new ApiServerModel({ clock: systemClock, uidSeed: 1 });
  const client = server.client({ clusterName: "sandbox" });
  const applied = applyAll(client, [crate("one"), crate("two")]);
  server.register({ type: crates, statusSubresource: true });
  await applied;
  const names = server.objects(crates).map((object) => JSON.stringify(object["metadata"]));
  assert.equal(names.length, 2);
  await applyAll(client, [crate("one")]);
  assert.equal(server.objects(crates).length, 2);
});

test("a condition is found by its type, and absent in whatever else a status may be", () => {
  const object = crate("a", conditions(["Ready", "False"], ["Synced", "True"]));
  assert.equal(conditionOf(object, "Synced"), "True");
  assert.equal(conditionOf(object, "Healthy"), undefined);
  for (const status of [{}, { conditions: "none" }, { conditions: [null, 3, "Ready"] }, []]) {
    assert.equal(conditionOf({ ...crate("a"), status }, "Ready"), undefined);
  }
  assert.equal(conditionOf(undefined, "Ready"), undefined);
});

test("all conditions must be True at the same time, and the error shows the status there was last", async () => {
  const server = new ApiServerModel({ clock: systemClock, uidSeed: 1 });
  server.register({ type: crates, statusSubresource: true });
  const client = server.client({ clusterName: "sandbox" });
  await client.create(crates, crate("a"));
  const set = (...list: readonly (readonly [string, string])[]): Promise<DynamicObject> =>
    client.mergePatch(crates, { name: "a" }, { status: conditions(...list) }, { subresource: "status" });
  await set(["Ready", "True"], ["Synced", "False"]);
  await assert.rejects(
    waitForConditions(client, crates, { name: "a" }, ["Ready", "Synced"], 1),
    /Crate a to be Ready and Synced.*"type":"Synced","status":"False"/,
  );
  const waiting = waitForConditions(client, crates, { name: "a" }, ["Ready", "Synced"]);
  await set(["Ready", "True"], ["Synced", "True"]);
  assert.equal((await waiting).metadata.name, "a");
});
