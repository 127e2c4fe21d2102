/** The controller of health in virtual time, on a model of the API server: its own writes wake it, too. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ProviderConfig, providerConfigs } from "@klutch/api";
import { findCondition } from "@klutch/kube-core";
import { Informer } from "@klutch/kube-runtime";
import { ApiServerModel, seededRandom, VirtualClock } from "@klutch/kube-testing";
import { OsbError } from "@klutch/osb";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import { createHealthController } from "./controllers.ts";
import { countedBroker } from "../testing/counted-broker.ts";

const minute = 60_000;
const action = "GET /healthz";
const down = new OsbError({ status: 503, error: "", description: "starting", own: false, action });

class Fixture implements AsyncDisposable {
  readonly clock = new VirtualClock();
  /** By name of the ProviderConfig: when it was asked. */
  readonly asked = new Map<string, number[]>();
  /** ProviderConfigs whose backend answers. */
  readonly up = new Set<string>();
  readonly #server = new ApiServerModel({ clock: this.clock, uidSeed: 1 });
  readonly client = this.#server.client({ clusterName: "provider" });
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor() {
    const { clock, client } = this;
    const runtime = { clock, random: seededRandom(7), logger: silentLogger, metrics: createMetrics() };
    this.#server.register({ type: providerConfigs, statusSubresource: true });
    const informer = new Informer<ProviderConfig>({ ...runtime, client, type: providerConfigs });
    const controller = createHealthController({
      ...runtime,
      client,
      informer,
      brokers: { get: (key) => Promise.resolve(this.#broker(key)) },
      managers: { get: () => Promise.reject(new Error("there is no backup manager")) },
      onHealth: () => undefined,
    });
    const { signal } = this.#stop;
    informer.start({ signal });
    this.#running = controller.start({ signal });
  }

  #broker(key: string) {
    const broker = countedBroker(this.clock, 0);
    const checkHealth = async (): Promise<void> => {
      this.asked.set(key, [...this.timesOf(key), this.clock.monotonic()]);
      if (!this.up.has(key)) throw down;
    };
    return { ...broker, osb: { ...broker.osb, checkHealth }, [Symbol.asyncDispose]: () => Promise.resolve() };
  }

  timesOf(key: string): readonly number[] {
    return this.asked.get(key) ?? [];
  }

  async add(name: string): Promise<void> {
    await this.client.create<ProviderConfig>(providerConfigs, {
      apiVersion: "dataservices.anynines.com/v1",
      kind: "ProviderConfig",
      metadata: { name },
      spec: {
        url: "http://broker.example.org",
        serviceType: "servicebroker",
        healthCheckEndpoint: "/healthz",
        providerCredentials: { source: "None", username: {}, password: {} },
      },
    });
  }

  async isHealthy(name: string): Promise<boolean> {
    const { status } = await this.client.get<ProviderConfig>(providerConfigs, { name });
    return findCondition(status?.conditions, "Healthy")?.status === "True";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

for (const startsInMs of [1_000, 12_000, 50_000, 4 * minute]) {
  test(`a backend that comes ${startsInMs / 1_000} s after its ProviderConfig is seen soon`, async () => {
    await using fixture = new Fixture();
    await fixture.add("one");
    await fixture.clock.advance(startsInMs);
    assert.equal(await fixture.isHealthy("one"), false);
    fixture.up.add("one");
    await fixture.clock.advance(Math.max(2_500, startsInMs / 8));
    assert.equal(await fixture.isHealthy("one"), true);
  });
}

test("many backends that stay away are asked rarely in the end, and not all at the same moment", async () => {
  await using fixture = new Fixture();
  const names = Array.from({ length: 20 }, (_, index) => `backend-${index}`);
  for (const name of names) await fixture.add(name);
  await fixture.clock.advance(10 * minute);
  const from = fixture.clock.monotonic();
  await fixture.clock.advance(60 * minute);
  const times = names.flatMap((name) => {
    const late = fixture.timesOf(name).filter((at) => at >= from);
    assert.ok(late.length <= 120 && late.length >= 95, `${name}: ${late.length} in an hour`);
    return late;
  });
  const seconds = new Map<number, number>();
  for (const at of times) seconds.set(Math.floor(at / 1_000), (seconds.get(Math.floor(at / 1_000)) ?? 0) + 1);
  assert.ok(Math.max(...seconds.values()) <= 10, `${Math.max(...seconds.values())} in one second`);
});

test("a healthy backend is asked every three minutes while others are unhealthy", async () => {
  await using fixture = new Fixture();
  fixture.up.add("well");
  await fixture.add("well");
  await fixture.add("ill");
  await fixture.clock.advance(30 * minute);
  const count = fixture.timesOf("well").length;
  assert.ok(count >= 9 && count <= 11, `${count} in half an hour`);
});
