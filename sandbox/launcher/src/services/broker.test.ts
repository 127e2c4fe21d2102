/** A machine that lacks packages is not made on demand, so what resolves them is a fake here. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type DebianPrograms, EngineError } from "@klutch/engines";
import { obtainDataServers, offeredTypes } from "./broker.ts";

const redis: DebianPrograms = { name: "redis", version: "7.0.15", root: "/", env: {}, path: (name) => name };
const { signal } = new AbortController();

test("a server that this machine cannot have is reported in one line, and the others are offered", async () => {
  const said: string[] = [];
  const words = "mariadb is not installed here and cannot be fetched: there is no apt-get";
  const found = await obtainDataServers({ say: (line) => void said.push(line) }, signal, (name) =>
    name === "redis" ? Promise.resolve(redis) : Promise.reject(new EngineError("PackageMissing", words)),
  );
  assert.deepEqual(found, { keyvalue: redis });
  assert.deepEqual(said, [`MariaDB is not offered: ${words}`]);
});

test("any other fault ends the start", async () => {
  const fault = new EngineError("UnsafeFolder", "the folder belongs to another user");
  const found = obtainDataServers({ say: assert.fail }, signal, () => Promise.reject(fault));
  await assert.rejects(found, fault);
});

test("object storage is offered with a server of the broker's own, PostgreSQL always, and others when they are asked for", async () => {
  assert.deepEqual(await offeredTypes({}), ["postgresql"]);
  assert.deepEqual(await offeredTypes({ keyvalue: redis }), ["postgresql", "keyvalue", "objectstorage"]);
  assert.deepEqual(await offeredTypes({}, ["mongodb"]), ["postgresql", "objectstorage", "mongodb"]);
});
