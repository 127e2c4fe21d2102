import assert from "node:assert/strict";
import { test } from "node:test";
import { brokerProgram, type BrokerProcessConfig } from "./config.ts";

const needed = { BROKER_USERNAME: "u", BROKER_PASSWORD: "p", BROKER_SECRET_KEY: "k".repeat(32) };

async function readAll(env: Readonly<Record<string, string>>): Promise<BrokerProcessConfig> {
  return brokerProgram.readConfig({ args: [], env: { ...needed, ...env }, randomName: () => "name" });
}

const read = async (env: Readonly<Record<string, string>>): Promise<BrokerProcessConfig["postgres"]> =>
  (await readAll(env)).postgres;

test("the PostgreSQL server is an existing one, else the broker's own in a folder, and one of them is needed", async () => {
  const url = "postgres://a:b@c/d";
  assert.deepEqual(await read({ BROKER_POSTGRES_URL: url }), { url });
  assert.deepEqual(await read({ BROKER_POSTGRES_FOLDER: "/data" }), { folder: "/data" });
  assert.deepEqual(await read({ BROKER_POSTGRES_URL: url, BROKER_POSTGRES_FOLDER: "/data" }), { url });
  await assert.rejects(read({}), /BROKER_POSTGRES_URL is required, or BROKER_POSTGRES_FOLDER/);
});

test("sizes and sessions are looked at every five minutes, or as often as said", async () => {
  const env = { BROKER_POSTGRES_FOLDER: "/data" };
  assert.equal((await readAll(env)).measureEveryMs, 300_000);
  assert.equal((await readAll({ ...env, BROKER_MEASURE_INTERVAL: "1s" })).measureEveryMs, 1_000);
});

test("services that are offered only when asked for are named by their types", async () => {
  const env = { BROKER_POSTGRES_FOLDER: "/data" };
  assert.deepEqual((await readAll(env)).services, []);
  assert.deepEqual((await readAll({ ...env, BROKER_SERVICES: "mongodb" })).services, ["mongodb"]);
  await assert.rejects(
    readAll({ ...env, BROKER_SERVICES: "mongodb,mysql" }),
    /BROKER_SERVICES: "mongodb,mysql" has "mysql", but each must be one of prometheus, mongodb, messaging, search, logme2/,
  );
});
