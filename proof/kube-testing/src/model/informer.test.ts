import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeClient, Random } from "@klutch/kube";
import { configMaps, type DynamicObject } from "@klutch/kube-core";
import { Informer } from "@klutch/kube-runtime";
import { VirtualClock } from "../virtual-clock.ts";
import { ApiServerModel } from "./api-server.ts";
import { seededFaults, seededRandom } from "./faults.ts";
import { textAt } from "./json.ts";

const namespace = "default";
const rates = {
  error: 0.05,
  lostAnswer: 0.03,
  lostRequest: 0.03,
  partition: 0.01,
  watchDelay: 0.1,
  watchDrop: 0.05,
  watchDuplicate: 0.05,
  watchStall: 0.02,
};

/** Writes for ten virtual minutes, without caring whether a write succeeds. */
async function disturb(client: KubeClient, clock: VirtualClock, random: Random): Promise<void> {
  while (clock.monotonic() < 600_000) {
    const name = `c${Math.floor(random() * 5)}`;
    const object = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace },
      data: { at: String(clock.monotonic()) },
    };
    const write =
      random() < 0.3
        ? client.delete(configMaps, { namespace, name })
        : client.apply(configMaps, object, { fieldManager: "writer", force: true });
    await write.catch(() => undefined);
    await clock.sleep(random() * 5_000);
  }
}

for (let seed = 1; seed <= 5; seed++) {
  test(`an informer over broken connections ends with what the server has (seed ${seed})`, async () => {
    const clock = new VirtualClock();
    const server = new ApiServerModel({ clock, uidSeed: seed });
    const faults = seededFaults(seed, rates);
    const random = seededRandom(seed + 1_000);
    const client = server.client({ clusterName: "model", faults });
    await using informer = new Informer<DynamicObject>({
      client,
      type: configMaps,
      namespace,
      clock,
      random,
    });
    informer.start();
    const cut = clock.schedule(300_000, () => server.disconnect());
    clock.schedule(400_000, () => server.compact());
    clock.schedule(450_000, () => faults.partition("model", true));
    clock.schedule(480_000, () => faults.partition("model", false));
    await clock.resolve(disturb(server.client({ clusterName: "writer" }), clock, random));
    cut();
    faults.stop();
    await clock.advance(200_000);
    const cached = [...informer.list()].map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
    const stored = server
      .objects(configMaps)
      .map(
        (object) => `${textAt(object, "metadata", "name")} ${textAt(object, "metadata", "resourceVersion")}`,
      );
    assert.deepEqual(cached.toSorted(), stored);
    assert.ok(stored.length > 0);
  });
}
