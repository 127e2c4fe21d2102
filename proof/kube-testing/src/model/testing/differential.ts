/** Runs the same random operations against the model and a real server and compares all that can be seen. For tests. */
import { ApiError, type KubeClient, type WatchEvent } from "@klutch/kube";
import { jsonEqual, type KubeObject, type ResourceType } from "@klutch/kube-core";
import { waitFor } from "../../wait-for.ts";
import { seededRandom } from "../faults.ts";
import {
  isList,
  isObject,
  type Json,
  type JsonObject,
  objectAt,
  objectsAt,
  textAt,
  toWire,
  withFields,
} from "../json.ts";
import { comparedTypes, configMaps, secrets } from "./compared-types.ts";
import { type Operation, OperationSource } from "./operations.ts";
import { perform } from "./perform.ts";

/** Something that the two servers do differently. */
export class DifferenceError extends Error {
  constructor(
    at: { readonly seed: number; readonly step: number; readonly what: unknown },
    real: Json,
    model: Json,
  ) {
    const [difference = "none"] = differences(real, model);
    super(`seed ${at.seed}, step ${at.step}: ${JSON.stringify(at.what)}\n${difference}`);
    this.name = "DifferenceError";
  }
}

function* differences(left: Json | undefined, right: Json | undefined, path = ""): Generator<string> {
  if (jsonEqual(left, right)) return;
  if (!isObject(left) || !isObject(right)) {
    yield `first difference at ${path}: real ${JSON.stringify(left)}, model ${JSON.stringify(right)}`;
    return;
  }
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    yield* differences(left[key], right[key], `${path}/${key}`);
  }
}

/** One of the two servers, with the names and versions seen of it. */
class Side {
  readonly client: KubeClient;
  readonly #names = new Map<string, string>();
  readonly #seen = new Map<string, { uid: string; versions: string[] }>();
  #prefix = "";
  /** Message of the last refusal; not compared. */
  lastMessage = "";

  constructor(client: KubeClient) {
    this.client = client;
  }

  async perform(operation: Operation): Promise<Json> {
    try {
      const body = this.#fill(operation.body, operation);
      const answer = await perform(this.client, operation, body);
      return this.observe(toWire({ answer }));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.lastMessage = error.message;
      return { status: error.status, reason: error.reason };
    }
  }

  /** Replaces values that differ between any two servers by names in the order of appearance. */
  observe(value: Json): Json {
    if (isList(value)) return value.map((item) => this.observe(item));
    if (!isObject(value)) return value;
    const metadata = value["metadata"];
    const isWhole = isObject(metadata) && textAt(metadata, "uid") !== "" && textAt(metadata, "name") !== "";
    if (isWhole) this.#remember(value);
    const entries = Object.entries(value).map(([field, child]): [string, Json] => [
      field,
      isWhole && field === "metadata" && isObject(child) ? this.#normalMeta(child) : this.observe(child),
    ]);
    return Object.fromEntries(entries);
  }

  #remember(object: JsonObject): void {
    const key = `${textAt(object, "kind")}/${textAt(object, "metadata", "name")}`;
    const seen = this.#seen.get(key) ?? { uid: "", versions: [] };
    seen.uid = textAt(object, "metadata", "uid");
    seen.versions.push(textAt(object, "metadata", "resourceVersion"));
    this.#seen.set(key, seen);
  }

  #normalMeta(metadata: JsonObject): JsonObject {
    const managedFields = objectsAt(metadata, "managedFields")
      .map((entry) => withFields(entry, { time: entry["time"] === undefined ? "absent" : "present" }))
      .toSorted((a, b) =>
        JSON.stringify([a["manager"], a["operation"], a["subresource"] ?? ""]) <
        JSON.stringify([b["manager"], b["operation"], b["subresource"] ?? ""])
          ? -1
          : 1,
      );
    return withFields(metadata, {
      uid: this.#name("uid", textAt(metadata, "uid")),
      resourceVersion: this.#name("rv", textAt(metadata, "resourceVersion")),
      creationTimestamp: "set",
      deletionTimestamp: metadata["deletionTimestamp"] === undefined ? undefined : "set",
      managedFields,
    });
  }

  /** Names of versions that appear from now on are told apart from earlier ones. */
  startSection(prefix: string): void {
    this.#prefix = prefix;
  }

  #name(kind: string, value: string): string {
    const known = this.#names.get(`${kind}${value}`);
    if (known !== undefined) return known;
    const name = `${kind}#${this.#prefix}${this.#names.size}`;
    this.#names.set(`${kind}${value}`, name);
    return name;
  }

  #fill(value: Json, operation: Operation): Json {
    if (isList(value)) return value.map((item) => this.#fill(item, operation));
    if (isObject(value)) {
      return Object.fromEntries(
        Object.entries(value).map(([field, child]) => [field, this.#fill(child, operation)]),
      );
    }
    const seen = this.#seen.get(`${operation.type.kind}/${operation.name}`);
    if (value === "$uid") return seen?.uid ?? "never-seen";
    if (value === "$rv") return seen?.versions.at(-1) ?? "1";
    if (value === "$staleRv") return seen?.versions.at(-4) ?? "1";
    return value;
  }
}

interface Recording {
  readonly label: string;
  readonly events: JsonObject[];
  readonly done: Promise<void>;
}

const selectors = [undefined, "app=x"] as const;

/** Watches all types on one server until the signal aborts. */
async function record(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly Recording[]> {
  const recordings: Recording[] = [];
  for (const type of comparedTypes) {
    for (const labelSelector of selectors) {
      const { resourceVersion } = await client.list(type, { namespace });
      const events: JsonObject[] = [];
      const stream = client.watch<KubeObject>(type, { namespace, labelSelector, resourceVersion, signal });
      const done = collect(stream, events).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      recordings.push({ label: `${type.plural} ${labelSelector ?? "all"}`, events, done });
    }
  }
  return recordings;
}

async function collect(stream: AsyncIterable<WatchEvent<KubeObject>>, events: JsonObject[]): Promise<void> {
  for await (const event of stream) {
    if (event.type !== "BOOKMARK") events.push({ type: event.type, object: toWire(event.object) });
  }
}

const sentinelFinalizers = { metadata: { finalizers: null } };

/** Compares `count` operations. Throws `DifferenceError`. The namespace must exist; its objects are removed first. */
export async function compareServers(
  real: KubeClient,
  model: KubeClient,
  namespace: string,
  options: { readonly seed: number; readonly count: number },
): Promise<void> {
  const { seed, count } = options;
  const sides = { real: new Side(real), model: new Side(model) };
  await Promise.all([clear(real, namespace), clear(model, namespace)]);
  const controller = new AbortController();
  const recordings = {
    real: await record(real, namespace, controller.signal),
    model: await record(model, namespace, controller.signal),
  };
  try {
    const source = new OperationSource(seededRandom(seed), namespace);
    for (let step = 0; step < count; step++) {
      const operation = source.next();
      const [left, right] = [await sides.real.perform(operation), await sides.model.perform(operation)];
      if (!jsonEqual(left, right))
        throw new DifferenceError(
          { seed, step, what: { operation, real: sides.real.lastMessage, model: sides.model.lastMessage } },
          left,
          right,
        );
    }
    await Promise.all([mark(real, namespace), mark(model, namespace)]);
    for (const [index, { label, events }] of recordings.real.entries()) {
      const other = recordings.model[index]?.events ?? [];
      await waitFor(`the end of ${label}`, () => isComplete(events) && isComplete(other));
      for (const side of [sides.real, sides.model]) side.startSection(`${label} `);
      const [left, right] = [sides.real.observe(events), sides.model.observe(other)];
      if (isList(left) && isList(right)) compareEvents(seed, label, left, right);
    }
  } finally {
    controller.abort(new Error("done"));
    await Promise.all([...recordings.real, ...recordings.model].map(({ done }) => done));
  }
}

function compareEvents(seed: number, label: string, real: readonly Json[], model: readonly Json[]): void {
  for (let step = 0; step < Math.max(real.length, model.length); step++) {
    const [left, right] = [real[step] ?? null, model[step] ?? null];
    if (!jsonEqual(left, right))
      throw new DifferenceError({ seed, step, what: `event of ${label}` }, left, right);
  }
}

const sentinel = "zz-end";

function isComplete(events: readonly JsonObject[]): boolean {
  const last = events.at(-1);
  return (
    textAt(last, "type") === "ADDED" && textAt(objectAt(last, "object"), "metadata", "name") === sentinel
  );
}

async function mark(client: KubeClient, namespace: string): Promise<void> {
  for (const type of comparedTypes) await client.create(type, sentinelOf(type, namespace));
}

function sentinelOf(type: ResourceType, namespace: string): KubeObject {
  const apiVersion = type === configMaps || type === secrets ? "v1" : `${type.group}/${type.version}`;
  return { apiVersion, kind: type.kind, metadata: { name: sentinel, namespace, labels: { app: "x" } } };
}

async function clear(client: KubeClient, namespace: string): Promise<void> {
  for (const type of comparedTypes) {
    for await (const { metadata } of client.listAll<KubeObject>(type, { namespace })) {
      if (metadata.name === "kube-root-ca.crt") continue;
      const ref = { namespace, name: metadata.name ?? "" };
      await client.mergePatch(type, ref, sentinelFinalizers).catch(() => undefined);
      await client.delete(type, ref);
    }
  }
}
