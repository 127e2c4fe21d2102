import assert from "node:assert/strict";
import { test } from "node:test";
import { brokerProgram, type BrokerProcessConfig } from "./config.ts";

const needed = { BROKER_USERNAME: "u", BROKER_PASSWORD: "p", BROKER_SECRET_KEY: "k".repeat(32) };

async function read(env: Readonly<Record<string, string>>): Promise<BrokerProcessConfig["postgres"]> {
  const source = { args: [], env: { ...needed, ...env }, randomName: () => "name" };
  return (await brokerProgram.readConfig(source)).postgres;
}

test("the PostgreSQL server is an existing one, else the broker's own in a folder, and one of them is needed", async () => {
  const url = "postgres://a:b@c/d";
  assert.deepEqual(await read({ BROKER_POSTGRES_URL: url }), { url });
  assert.deepEqual(await read({ BROKER_POSTGRES_FOLDER: "/data" }), { folder: "/data" });
  assert.deepEqual(await read({ BROKER_POSTGRES_URL: url, BROKER_POSTGRES_FOLDER: "/data" }), { url });
  await assert.rejects(read({}), /BROKER_POSTGRES_URL is required, or BROKER_POSTGRES_FOLDER/);
});
