/** Runs the same random operations against the model and a real server and compares all that can be seen. For tests. */
import assert from "node:assert/strict";
import { ApiError, type KubeClient } from "@klutch/kube";
import type { KubeObject } from "@klutch/kube-core";
import { objectOfType } from "../../objects.ts";
import { waitFor } from "../../wait-for.ts";
import {
  isList,
  isObject,
  type Json,
  type JsonObject,
  objectsAt,
  textAt,
  toWire,
  withFields,
} from "../json.ts";
import { comparedTypes } from "./compared-types.ts";
import { drawOperations, type Operation, perform } from "./operations.ts";

interface Recording {
  readonly label: string;
  readonly events: JsonObject[];
  readonly done: Promise<void>;
}

const sentinel = "zz-end";

/** One of the two servers, with the names and versions seen of it. */
class Side {
  readonly recordings: Recording[] = [];
  /** Message of the last refusal; not compared. */
  lastMessage = "";
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #names = new Map<string, string>();
  readonly #seen = new Map<string, { uid: string; versions: string[] }>();

  constructor(client: KubeClient, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  /** Removes the objects of the namespace, and then watches all types until the signal aborts. */
  async start(signal: AbortSignal): Promise<void> {
    const [client, namespace] = [this.#client, this.#namespace];
    for (const type of comparedTypes)
      for await (const { metadata } of client.listAll<KubeObject>(type, { namespace })) {
        if (metadata.name === "kube-root-ca.crt") continue;
        const ref = { namespace, name: metadata.name ?? "" };
        await client.mergePatch(type, ref, { metadata: { finalizers: null } }).catch(() => undefined);
        await client.delete(type, ref);
      }
    for (const type of comparedTypes)
      for (const labelSelector of [undefined, "app=x"]) {
        const { resourceVersion } = await client.list(type, { namespace });
        const events: JsonObject[] = [];
        const collect = async (): Promise<void> => {
          const options = { namespace, labelSelector, resourceVersion, signal };
          for await (const event of client.watch<KubeObject>(type, options))
            if (event.type !== "BOOKMARK") events.push({ type: event.type, object: toWire(event.object) });
        };
        const done = collect().catch((error: unknown) => {
          if (!signal.aborted) throw error;
        });
        this.recordings.push({ label: `${type.plural} ${labelSelector ?? "all"}`, events, done });
      }
  }

  async perform(operation: Operation): Promise<Json> {
    try {
      const answer = await perform(this.#client, operation, this.#filled(operation));
      return this.observe(toWire({ answer }));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.lastMessage = error.message;
      return { status: error.status, reason: error.reason };
    }
  }

  /** Makes the last object of each type, with which the recordings end. */
  async end(): Promise<void> {
    const metadata = { name: sentinel, namespace: this.#namespace, labels: { app: "x" } };
    for (const type of comparedTypes) await this.#client.create(type, objectOfType(type, metadata));
  }

  /** Replaces values that differ between any two servers by names in the order of appearance. */
  observe(value: Json): Json {
    if (isList(value)) return value.map((item) => this.observe(item));
    if (!isObject(value)) return value;
    const { metadata = null } = value;
    const isWhole = textAt(metadata, "uid") !== "" && textAt(metadata, "name") !== "";
    if (isWhole) this.#remember(value);
    const entries = Object.entries(value).map(([field, child]): [string, Json] => [
      field,
      isWhole && field === "metadata" && isObject(child) ? this.#normalMeta(child) : this.observe(child),
    ]);
    return Object.fromEntries(entries);
  }

  #remember(object: JsonObject): void {
    const key = `${textAt(object, "kind")}/${textAt(object, "metadata", "name")}`;
    const versions = this.#seen.get(key)?.versions ?? [];
    versions.push(textAt(object, "metadata", "resourceVersion"));
    this.#seen.set(key, { uid: textAt(object, "metadata", "uid"), versions });
  }

  #normalMeta(metadata: JsonObject): JsonObject {
    const order = (entry: JsonObject): string =>
      JSON.stringify([entry["manager"], entry["operation"], entry["subresource"] ?? ""]);
    const managedFields = objectsAt(metadata, "managedFields")
      .map((entry) => withFields(entry, { time: entry["time"] === undefined ? "absent" : "present" }))
      .toSorted((left, right) => (order(left) < order(right) ? -1 : 1));
    return withFields(metadata, {
      uid: this.#name("uid", textAt(metadata, "uid")),
      resourceVersion: this.#name("rv", textAt(metadata, "resourceVersion")),
      creationTimestamp: "set",
      deletionTimestamp: metadata["deletionTimestamp"] === undefined ? undefined : "set",
      managedFields,
    });
  }

  #name(kind: string, value: string): string {
    const name = this.#names.get(`${kind}${value}`) ?? `${kind}#${this.#names.size}`;
    this.#names.set(`${kind}${value}`, name);
    return name;
  }

  #filled({ type, name, body }: Operation): Json {
    const { uid, versions } = this.#seen.get(`${type.kind}/${name}`) ?? { uid: "never-seen", versions: [] };
    const known = new Map<unknown, string>([
      ["$uid", uid],
      ["$rv", versions.at(-1) ?? "1"],
      ["$staleRv", versions.at(-4) ?? "1"],
    ]);
    return JSON.parse(JSON.stringify(body), (_field, value: Json) => known.get(value) ?? value) as Json;
  }
}

/** Compares `count` operations. Throws an `AssertionError`. The namespace must exist; its objects are removed first. */
export async function compareServers(
  real: KubeClient,
  model: KubeClient,
  namespace: string,
  { seed, count }: { readonly seed: number; readonly count: number },
): Promise<void> {
  const sides = [new Side(real, namespace), new Side(model, namespace)] as const;
  const [left, right] = sides;
  const stop = new AbortController();
  await Promise.all(sides.map((side) => side.start(stop.signal)));
  try {
    for (const [step, operation] of drawOperations(seed, count, namespace).entries()) {
      const [answer, modelled] = [await left.perform(operation), await right.perform(operation)];
      const about = { seed, step, operation, messages: sides.map(({ lastMessage }) => lastMessage) };
      assert.deepEqual({ ...about, answer: modelled }, { ...about, answer });
    }
    await Promise.all(sides.map((side) => side.end()));
    for (const [index, { label, events }] of left.recordings.entries()) {
      const other = right.recordings[index]?.events ?? [];
      await waitFor(`the end of ${label}`, () => isComplete(events) && isComplete(other));
      assert.deepEqual(
        { seed, label, events: right.observe(other) },
        { seed, label, events: left.observe(events) },
      );
    }
  } finally {
    stop.abort(new Error("done"));
    await Promise.all(sides.flatMap(({ recordings }) => recordings.map(({ done }) => done)));
  }
}

function isComplete(events: readonly JsonObject[]): boolean {
  const last = events.at(-1);
  return textAt(last, "type") === "ADDED" && textAt(last, "object", "metadata", "name") === sentinel;
}
