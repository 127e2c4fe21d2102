import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProviderConfig } from "@klutch/api";
import { fakeClient, VirtualClock } from "@klutch/kube-testing";
import { ConfiguredClients } from "./clients.ts";

/** Asks for the client again and again; `reads` counts how often the Secret was read. */
function start() {
  const clock = new VirtualClock();
  const fixture = { reads: 0, password: "old", config: configOf("http://a"), answered: [] as Answered[] };
  const client = fakeClient({
    find: async () => {
      fixture.reads++;
      const data = { username: base64("u"), password: base64(fixture.password) };
      return { apiVersion: "v1", kind: "Secret", metadata: {}, data };
    },
  });
  const clients = new ConfiguredClients(
    { client, clock, env: {}, configs: { get: () => fixture.config, notFound: String } },
    {
      serviceType: "servicebroker",
      create: ({ url, auth }, answered) => {
        fixture.answered.push(answered);
        const text = `${url} ${auth?.kind === "basic" ? auth.password : ""}`;
        return { text, [Symbol.asyncDispose]: () => Promise.resolve() };
      },
    },
  );
  const ask = async (): Promise<string> =>
    (await clients.get("c", { signal: new AbortController().signal })).text;
  return { clock, fixture, ask };
}

type Answered = (status: number | undefined) => void;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

function configOf(url: string): ProviderConfig {
  const key = (name: string): object => ({ secretRef: { namespace: "n", name: "s", key: name } });
  const providerCredentials = { source: "Secret", username: key("username"), password: key("password") };
  return {
    metadata: { name: "c" },
    spec: { url, serviceType: "servicebroker", providerCredentials },
  } as never;
}

test("the credentials of a backend are read once in ten seconds, however many resources are reconciled", async () => {
  const { clock, fixture, ask } = start();
  for (let round = 0; round < 100; round++) assert.equal(await ask(), "http://a old");
  assert.equal(fixture.reads, 1);
  fixture.password = "new";
  await clock.advance(10_000);
  assert.equal(await ask(), "http://a new");
  assert.equal(fixture.reads, 2);
});

test("credentials that the backend refuses are read again at once, and so are those of a ProviderConfig that changed", async () => {
  const { fixture, ask } = start();
  await ask();
  fixture.password = "new";
  fixture.answered[0]?.(200);
  assert.equal(await ask(), "http://a old");
  fixture.answered[0]?.(401);
  assert.equal(await ask(), "http://a new");
  fixture.config = configOf("http://b");
  assert.equal(await ask(), "http://b new");
  assert.equal(fixture.reads, 3);
});
