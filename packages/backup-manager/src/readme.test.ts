import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Secret } from "@klutch/telemetry";
import type { CreateIntent } from "./lost-answer.ts";
import { backUp } from "./testing/examples/back-up.ts";
import { backUpOnce, lookForIt, type Notes } from "./testing/examples/back-up-once.ts";
import { fakeManager, json, password } from "./testing/fake-manager.ts";

/** Remembers in an array what it is told. */
function notesIn(told: unknown[]): Notes {
  return {
    remember: async (intent) => void told.push(intent),
    keep: async (id) => void told.push(id),
    forget: async () => void told.push("forgotten"),
  };
}

test("every example of the README is a file that these tests run", async () => {
  const readme = await readFile(join(import.meta.dirname, "../README.md"), "utf8");
  const folder = join(import.meta.dirname, "testing/examples");
  const shown = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block]) => block);
  const names = await readdir(folder);
  assert.equal(shown.length, names.length);
  for (const name of names) assert.ok(shown.includes(await readFile(join(folder, name), "utf8")), name);
});

test("the first example backs up, looks and deletes, also a backup that is gone already", async (t) => {
  const { url, requests } = await fakeManager(t, (asked, response) => {
    if (asked.method === "POST") json(201, { id: 7 })(asked, response);
    else if (asked.method === "GET") json(200, { id: 7, status: "done", size: 42 })(asked, response);
    else json(404, { error: "BackupNotFound" })(asked, response);
  });
  assert.equal(await backUp(url, new Secret(password), "i"), "backup 7: Succeeded, 42 bytes");
  assert.deepEqual(
    requests.map(({ method }) => method),
    ["POST", "GET", "DELETE"],
  );
});

test("the second example notes first, keeps the id, forgets after a clear no, and finds what a lost answer made", async (t) => {
  const made: object[] = [];
  let answers: "created" | "refused" | "lost" = "created";
  const { client } = await fakeManager(t, (asked, response) => {
    if (asked.method === "GET") return json(200, made)(asked, response);
    if (answers === "refused") return json(422, { error: "NotNow" })(asked, response);
    const id = made.length + 1;
    made.push({ id, status: "queued", triggered_at: new Date().toISOString() });
    return answers === "lost" ? response.destroy() : json(201, { id })(asked, response);
  });
  const told: unknown[] = [];
  await backUpOnce(client, "i", notesIn(told), Date.now);
  assert.deepEqual(told.slice(1), [1]);
  answers = "refused";
  await assert.rejects(backUpOnce(client, "i", notesIn(told), Date.now), { code: "Unprocessable" });
  assert.equal(told.at(-1), "forgotten");
  answers = "lost";
  let intent: CreateIntent | undefined;
  const notes: Notes = { ...notesIn(told), remember: async (noted) => void (intent = noted) };
  await assert.rejects(backUpOnce(client, "i", notes, Date.now), { code: "Broken" });
  assert.ok(intent !== undefined);
  const found = await lookForIt(client, "i", intent, new Set([1]), Date.now);
  assert.ok(found.kind === "found" && found.item.id === 2, found.kind);
});
