import assert from "node:assert/strict";
import { test } from "node:test";
import { configMaps, type DynamicObject } from "@klutch/kube-core";
import { ApiServerModel, VirtualClock } from "@klutch/kube-testing";
import { Informer } from "./cache/informer.ts";
import { Controller, type ControllerOptions } from "./controller.ts";

/** A controller with one worker over the cache of config maps; `worked` has the keys in the order of their work. */
class Fixture implements AsyncDisposable {
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
  await using fixture = new Fixture();
  await fixture.write("a");
  await fixture.fillCache();
  fixture.controller.watch(fixture.informer);
  assert.deepEqual(await fixture.work(), ["a"]);
  await fixture.write("b");
  await fixture.write("a", { x: "1" });
  await fixture.clock.advance(0);
  assert.deepEqual(fixture.worked.splice(0), ["b", "a"]);
  await fixture.server
    .client({ clusterName: "user" })
    .delete(configMaps, { namespace: "default", name: "a" });
  await fixture.clock.advance(0);
  assert.deepEqual(fixture.worked, ["a"]);
});

test("a watch may name other keys, several or none", async () => {
  await using fixture = new Fixture();
  await fixture.fillCache();
  fixture.controller.watch(fixture.informer, ({ object }) =>
    Object.keys(object["data"] ?? {}).map((name) => `owner-${name}`),
  );
  await fixture.write("none");
  await fixture.write("two", { x: "", y: "" });
  await fixture.clock.advance(0);
  assert.deepEqual(await fixture.work(), ["owner-x", "owner-y"]);
});

test("a watch that was given up wakes nothing, and one whose keys throw does not disturb the others", async () => {
  await using fixture = new Fixture();
  await fixture.fillCache();
  const given = fixture.controller.watch(fixture.informer, () => ["given-up"]);
  fixture.controller.watch(fixture.informer, () => {
    throw new Error("a mistake in a mapping");
  });
  fixture.controller.watch(fixture.informer);
  given[Symbol.dispose]();
  await fixture.write("a");
  await fixture.clock.advance(0);
  assert.deepEqual(await fixture.work(), ["a"]);
});

test("what a person did overtakes changes, and changes overtake what was there before", async () => {
  await using fixture = new Fixture();
  for (const name of ["old-1", "old-2", "old-3"]) await fixture.write(name);
  await fixture.fillCache();
  fixture.controller.watch(fixture.informer);
  await fixture.write("changed");
  await fixture.clock.advance(0);
  fixture.controller.enqueue("person", { priority: "high" });
  // Known already, and now a person's.
  fixture.controller.enqueue("default/old-3", { priority: "high" });
  assert.deepEqual(await fixture.work(), ["person", "old-3", "changed", "old-1", "old-2"]);
});

test("keys of low priority get a turn now and then, however many important ones wait", async () => {
  await using fixture = new Fixture();
  fixture.controller.enqueue("least", { priority: "low" });
  for (let count = 0; count < 30; count++)
    fixture.controller.enqueue(`person-${count}`, { priority: "high" });
  const place = (await fixture.work()).indexOf("least");
  assert.ok(place > 0 && place < 10, `${place}`);
});
