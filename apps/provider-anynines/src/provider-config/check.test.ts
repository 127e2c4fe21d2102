import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ProviderConfig } from "@klutch/api";
import { ApiError } from "@klutch/kube";
import { namespaces, secrets } from "@klutch/kube-core";
import { ApiServerModel, namespaceObject, secretObject, VirtualClock } from "@klutch/kube-testing";
import { createMetrics } from "@klutch/telemetry";
import { createManagers } from "../backup-manager/managers.ts";
import { createBrokers } from "../broker/brokers.ts";
import { checkBackend, type Verdict } from "./check.ts";
import { http, type RawAnswer, startRawBackend } from "../testing/raw-backend.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const clock = new VirtualClock();
const client = new ApiServerModel({ clock, uidSeed: 1 }).client({ clusterName: "provider" });
const backend = stack.use(await startRawBackend());
const password = "hunter2-hunter2";
const secret = secretObject("team", "login", { username: "app", password });
await client.create(namespaces, namespaceObject("team"));
await client.create(secrets, secret);

type ServiceType = ProviderConfig["spec"]["serviceType"];
let current: ProviderConfig | undefined;
const source = {
  client,
  env: { PASSWORD: password },
  configs: { get: () => current, notFound: () => "none" },
  clock,
  metrics: createMetrics(),
};
const backends = { brokers: stack.use(createBrokers(source)), managers: stack.use(createManagers(source)) };

function config(serviceType: ServiceType, spec: Partial<ProviderConfig["spec"]> = {}): ProviderConfig {
  const from = (key: string) => ({ secretRef: { namespace: "team", name: "login", key } });
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ProviderConfig",
    metadata: { name: `a-${serviceType}` },
    spec: {
      url: backend.url,
      serviceType,
      providerCredentials: {
        source: "Secret",
        username: from("username"),
        password: from("password"),
      },
      ...spec,
    },
  };
}

async function check(
  answer: RawAnswer,
  serviceType: ServiceType,
  spec?: Partial<ProviderConfig["spec"]>,
): Promise<Verdict> {
  backend.answer = answer;
  current = config(serviceType, spec);
  const verdict = await checkBackend(backends, current, { signal: new AbortController().signal, clock });
  assert.doesNotMatch(JSON.stringify(verdict), new RegExp(password));
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(verdict.message, /[\u0000-\u001f\u202e]/);
  assert.ok(verdict.message.length <= 720, `${verdict.message.length} characters`);
  return verdict;
}

const health = { healthCheckEndpoint: "healthy" };
const both = ["servicebroker", "backupmanager"] as const;
const good: Verdict = { healthy: true, reason: "Available", message: "Available" };

for (const kind of both) {
  test(`a ${kind} is healthy when its path answers 2xx, whatever it says`, async () => {
    assert.deepEqual(await check(http(200, "<html>", "content-type: text/html"), kind, health), good);
    assert.deepEqual(await check(http(204), kind, health), good);
    assert.match(backend.asked.at(-1) ?? "", /^GET \/healthy HTTP/);
  });

  const cases: readonly (readonly [string, RawAnswer, string, RegExp])[] = [
    [
      "answers 503",
      http(503, '{"error":"Down","description":"later"}'),
      "BrokerUnreachable",
      /HTTP 503.*Down: later/,
    ],
    ["answers 500", http(500, "{"), "Unhealthy", /HTTP 500/],
    ["has nothing there", http(404, "<h1>no</h1>", "content-type: text/html"), "Unhealthy", /HTTP 404/],
    ["refuses the login", http(401, "{}"), "LoginRefused", /HTTP 401/],
    ["forbids it", http(403, "{}"), "LoginRefused", /HTTP 403/],
    ["is busy", http(429, "{}"), "BrokerBusy", /HTTP 429/],
    [
      "sends somewhere else",
      http(302, "", `location: http://127.0.0.1:1/${password}`),
      "Unhealthy",
      /HTTP 302/,
    ],
    ["hangs up", "", "BrokerUnreachable", /./],
    ["does not speak HTTP", "220 mail.example ESMTP\r\n", "Unhealthy", /./],
  ];
  for (const [what, answer, reason, message] of cases) {
    test(`a ${kind} that ${what} is not healthy`, async () => {
      const verdict = await check(answer, kind, health);
      assert.deepEqual([verdict.healthy, verdict.reason], [false, reason]);
      assert.match(verdict.message, message);
    });
  }

  test(`what a ${kind} says is on one line, bounded, and without the login that it was sent`, async () => {
    const echoed = Buffer.from(`app:${password}`).toString("base64");
    const description = `authorization: Basic ${echoed}\r\n\u202e https://app:${password}@host/ ${password} ${"x".repeat(9_000)}`;
    const verdict = await check(http(500, JSON.stringify({ error: "E", description })), kind, health);
    assert.equal(verdict.reason, "Unhealthy");
    assert.doesNotMatch(verdict.message, new RegExp(echoed));
  });

  test(`a ${kind} that never ends its answer, or never begins, is waited for ten seconds`, async () => {
    const verdict = check(undefined, kind, health);
    await backend.whenAsked(backend.asked.length + 1);
    await clock.advance(10_000);
    assert.deepEqual(await verdict, {
      healthy: false,
      reason: "BrokerUnreachable",
      message: "no answer within 10 s",
    });
  });

  test(`a ${kind} whose address has a login in it does not show it`, async () => {
    const url = `http://app:${password}@127.0.0.1:1`;
    const verdict = await check("", kind, { ...health, url });
    assert.equal(verdict.healthy, false);
  });

  test(`a ${kind} whose Secret is gone or whose settings cannot work is misconfigured`, async () => {
    const gone = { secretRef: { namespace: "team", name: "gone", key: "password" } };
    const providerCredentials = { source: "Secret", username: gone, password: gone } as const;
    const missing = await check("", kind, { ...health, providerCredentials });
    assert.equal(missing.reason, "Misconfigured");
    assert.match(missing.message, /secrets "gone" not found in team/);
    const tls = {
      insecureSkipVerify: true,
      caBundleSecretRef: { namespace: "team", name: "login", key: "username" },
    };
    assert.match((await check("", kind, { ...health, tls })).message, /exclude each other/);
  });
}

test("without a path a broker's catalog is read again each time, and one that makes no sense is not healthy", async () => {
  const catalog = http(200, '{"services":[]}');
  assert.deepEqual(await check(catalog, "servicebroker"), good);
  const asked = backend.asked.length;
  assert.deepEqual(await check(catalog, "servicebroker"), good);
  assert.equal(backend.asked.length, asked + 1);
  assert.match(backend.asked.at(-1) ?? "", /^GET \/v2\/catalog HTTP/);
  for (const body of ['{"services":[', "<html>", '{"services":7}', "[]", "null"]) {
    const verdict = await check(http(200, body), "servicebroker");
    assert.deepEqual([body, verdict.healthy, verdict.reason], [body, false, "Unhealthy"]);
  }
});

test("a catalog without end is cut off", async () => {
  const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
  const verdict = await check({ endless: head + "x".repeat(1 << 20) }, "servicebroker");
  assert.deepEqual([verdict.healthy, verdict.reason], [false, "Unhealthy"]);
});

test("that the own API server does not answer says nothing about the backend", async () => {
  const failing = new ApiError({ status: 503, reason: "ServiceUnavailable", message: "etcd" });
  const brokers = { get: () => Promise.reject(failing) };
  await assert.rejects(
    checkBackend({ ...backends, brokers }, config("servicebroker"), {
      signal: new AbortController().signal,
      clock,
    }),
    (error) => error === failing,
  );
});
