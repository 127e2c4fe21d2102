import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { recordedPorts, writeRecord } from "./record.ts";

const root = await mkdtemp(join(tmpdir(), "klutch-record-"));
after(() => rm(root, { recursive: true, force: true }));

test("the ports of every kind of server are known, whatever else is in the folder", async () => {
  assert.deepEqual(await recordedPorts(root), new Set());
  const ports = {
    "mariadb/a": 1001,
    "keyvalue/b": 1002,
    "of-a-later-driver/c": 1003,
    "logme2/d/syslog": 1004,
  };
  for (const [instance, port] of Object.entries(ports)) {
    await mkdir(join(root, instance), { recursive: true });
    await writeRecord(join(root, instance), { port, data: "data", restored: [] });
  }
  await mkdir(join(root, "mariadb/without-a-record"));
  await writeFile(join(root, "mariadb/a-file"), "");
  assert.deepEqual(await recordedPorts(root), new Set(Object.values(ports)));
  assert.deepEqual(await recordedPorts(join(root, "absent")), new Set());
});
