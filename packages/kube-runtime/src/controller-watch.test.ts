import assert from "node:assert/strict";
import { test } from "node:test";
import { configMaps, type DynamicObject } from "@klutch/kube-core";
import { ApiServerModel, VirtualClock } from "@klutch/kube-testing";
import { Informer } from "./cache/informer.ts";
import { Controller, type ControllerOptions } from "./controller.ts";

/** A controller with one worker over the cache of config maps; `worked` has the keys in the order of their work. */
class World implements AsyncDisposable {
  readonly clock: VirtualClock = new VirtualClock();
  readonly server: ApiServerModel = new ApiServerModel({ clock: this.clock, uidSeed: 1 });
  readonly informer: Informer<DynamicObject>;
  readonly controller: Controller;
  readonly worked: string[] = [];
  readonly #stop = new AbortController();

  constructor(options: Partial<ControllerOptions> = {}) {
    const client = this.server.client({ clusterName: "test" });
    const { clock } = this;
    this.informer = new Informer<DynamicObject>({ client, type: configMaps, namespace: "default", clock });
    this.controller = new Controller({
      name: "test",
      workers: 1,
      clock,
      reconcile: async (key) => void this.worked.push(key.replace("default/", "")),
      ...options,
    });
  }

  async write(name: string, data: Readonly<Record<string, string>> = {}): Promise<void> {
    const object = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: "default" },
      data,
    };
    await this.server
      .client({ clusterName: "user" })
      .apply(configMaps, object, { fieldManager: "user", force: true });
  }

  async fillCache(): Promise<void> {
    this.informer.start();
    await this.clock.resolve(this.informer.whenSynced());
  }

  /** Works until nothing is left. */
  async work(): Promise<readonly string[]> {
    void this.controller.start({ signal: this.#stop.signal });
    await this.clock.advance(0);
    return this.worked.splice(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the test ended"));
    await this.informer[Symbol.asyncDispose]();
  }
}

test("each existing object and each change wakes its key", async () => {
  await using world = new World();
  await world.write("a");
  await world.fillCache();
  world.controller.watch(world.informer);
  assert.deepEqual(await world.work(), ["a"]);
  await world.write("b");
  await world.write("a", { x: "1" });
  await world.clock.advance(0);
  assert.deepEqual(world.worked.splice(0), ["b", "a"]);
  await world.server.client({ clusterName: "user" }).delete(configMaps, { namespace: "default", name: "a" });
  await world.clock.advance(0);
  assert.deepEqual(world.worked, ["a"]);
});

test("a watch may name other keys, several or none", async () => {
  await using world = new World();
  await world.fillCache();
  world.controller.watch(world.informer, ({ object }) =>
    Object.keys(object["data"] ?? {}).map((name) => `owner-${name}`),
  );
  await world.write("none");
  await world.write("two", { x: "", y: "" });
  await world.clock.advance(0);
  assert.deepEqual(await world.work(), ["owner-x", "owner-y"]);
});

test("a watch that was given up wakes nothing, and one whose keys throw does not disturb the others", async () => {
  await using world = new World();
  await world.fillCache();
  const given = world.controller.watch(world.informer, () => ["given-up"]);
  world.controller.watch(world.informer, () => {
    throw new Error("a mistake in a mapping");
  });
  world.controller.watch(world.informer);
  given[Symbol.dispose]();
  await world.write("a");
  await world.clock.advance(0);
  assert.deepEqual(await world.work(), ["a"]);
});

test("what a person did overtakes changes, and changes overtake what was there before", async () => {
  await using world = new World();
  for (const name of ["old-1", "old-2", "old-3"]) await world.write(name);
  await world.fillCache();
  world.controller.watch(world.informer);
  await world.write("changed");
  await world.clock.advance(0);
  world.controller.enqueue("person", { priority: "high" });
  // Known already, and now a person's.
  world.controller.enqueue("default/old-3", { priority: "high" });
  assert.deepEqual(await world.work(), ["person", "old-3", "changed", "old-1", "old-2"]);
});

test("keys of low priority get a turn now and then, however many important ones wait", async () => {
  await using world = new World();
  world.controller.enqueue("least", { priority: "low" });
  for (let count = 0; count < 30; count++) world.controller.enqueue(`person-${count}`, { priority: "high" });
  const place = (await world.work()).indexOf("least");
  assert.ok(place > 0 && place < 10, `${place}`);
});
