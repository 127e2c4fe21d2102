/**
 * Random operations for the comparison of model and real server. They are data: `$uid`, `$rv` and `$staleRv` stand for what that server
 * gave the object, so that the same operation can be sent to both.
 */
import type { Random } from "@klutch/kube";
import type { ResourceType } from "@klutch/kube-core";
import { type Json, type JsonObject, objectAt } from "../json.ts";
import { configMaps, gadgets, secrets, widgets } from "./compared-types.ts";

/** One operation. */
export interface Operation {
  readonly verb:
    | "create"
    | "replace"
    | "apply"
    | "mergePatch"
    | "jsonPatch"
    | "delete"
    | "get"
    | "list"
    | "edit";
  readonly type: ResourceType;
  readonly namespace: string;
  readonly name: string;
  readonly manager: string;
  readonly subresource?: "status" | undefined;
  readonly force?: boolean | undefined;
  /** The object, patch, list of operations or delete options. */
  readonly body: Json;
  readonly selector?: string | undefined;
}

/** Draws values and operations. */
export class OperationSource {
  readonly #random: Random;
  readonly #namespace: string;

  constructor(random: Random, namespace: string) {
    this.#random = random;
    this.#namespace = namespace;
  }

  /** The next operation. */
  next(): Operation {
    const type = this.#pick([widgets, widgets, widgets, gadgets, gadgets, configMaps, secrets]);
    const name = this.#pick(["a", "b", "c"]);
    const manager = this.#pick(["alpha", "beta"]);
    const isStatus = type === widgets && this.#chance(0.25);
    const subresource = isStatus ? ("status" as const) : undefined;
    const verb = this.#verb();
    const namespace = this.#namespace;
    const base = { verb, type, namespace, name, manager, subresource };
    switch (verb) {
      case "create":
        return {
          ...base,
          subresource: undefined,
          body: this.#object(type, name, this.#chance(0.03) ? { resourceVersion: "$rv" } : {}),
        };
      case "replace":
        return { ...base, body: this.#object(type, name, this.#identity()) };
      case "apply":
        return {
          ...base,
          force: this.#chance(0.6),
          body: withoutBlanks(this.#object(type, name, this.#applyIdentity())),
        };
      case "edit":
        return { ...base, body: this.#patch(type) };
      case "mergePatch":
        return { ...base, body: this.#patch(type) };
      case "jsonPatch":
        return { ...base, body: this.#operations(type) };
      case "delete":
        return { ...base, subresource: undefined, body: this.#deleteOptions() };
      case "get":
      case "list":
        return {
          ...base,
          subresource: undefined,
          body: null,
          selector: this.#pick(["app=x", "app!=x", "app in (x,y)", "!app", "app"]),
        };
      default:
        return verb satisfies never;
    }
  }

  #verb(): Operation["verb"] {
    return this.#pick([
      "create",
      "create",
      "replace",
      "edit",
      "edit",
      "apply",
      "apply",
      "apply",
      "apply",
      "mergePatch",
      "mergePatch",
      "jsonPatch",
      "jsonPatch",
      "delete",
      "get",
      "list",
    ] as const);
  }

  #object(type: ResourceType, name: string, extra: JsonObject): JsonObject {
    const apiVersion = type.group === "" ? type.version : `${type.group}/${type.version}`;
    const metadata = { name, namespace: this.#namespace, ...this.#metadata(), ...extra };
    return { apiVersion, kind: type.kind, metadata, ...this.#content(type, false) };
  }

  #identity(): JsonObject {
    return {
      ...(this.#chance(0.8) ? { resourceVersion: this.#pick(["$rv", "$rv", "$rv", "$staleRv"]) } : {}),
      ...(this.#chance(0.3) ? { uid: this.#pick(["$uid", "$uid", "wrong"]) } : {}),
    };
  }

  #applyIdentity(): JsonObject {
    return {
      ...(this.#chance(0.1) ? { resourceVersion: this.#pick(["$rv", "$staleRv"]) } : {}),
      ...(this.#chance(0.2) ? { uid: this.#pick(["$uid", "$uid", "wrong"]) } : {}),
    };
  }

  #deleteOptions(): JsonObject {
    const preconditions = {
      ...(this.#chance(0.3) ? { uid: this.#pick(["$uid", "$uid", "wrong"]) } : {}),
      ...(this.#chance(0.2) ? { resourceVersion: this.#pick(["$rv", "$staleRv"]) } : {}),
    };
    const policy = this.#chance(0.15)
      ? { propagationPolicy: this.#pick(["Background", "Foreground", "Orphan"]) }
      : {};
    return { ...(Object.keys(preconditions).length > 0 ? { preconditions } : {}), ...policy };
  }

  #metadata(): JsonObject {
    return {
      ...(this.#chance(0.5)
        ? { labels: this.#some({ app: ["x", "y"], tier: ["1", "2"], "k.dev/z": ["z"] }) }
        : {}),
      ...(this.#chance(0.4) ? { annotations: this.#some({ note: ["p", "q"], "k.dev/a": ["1", ""] }) } : {}),
      ...(this.#chance(0.25) ? { finalizers: this.#subset(["k.dev/one", "k.dev/two"]) } : {}),
      ...(this.#chance(0.06)
        ? {
            ownerReferences: [
              { apiVersion: "v1", kind: "ConfigMap", name: "o", uid: this.#pick(["u1", "u2"]) },
            ],
          }
        : {}),
    };
  }

  #content(type: ResourceType, isPatch: boolean): JsonObject {
    if (type === configMaps)
      return this.#chance(0.85) ? { data: this.#some({ k1: ["v1", "v2"], k2: ["v1", ""], k3: ["x"] }) } : {};
    if (type === secrets) {
      return {
        ...(this.#chance(0.85) ? { data: this.#some({ user: ["YQ==", "Yg=="], password: ["Yw=="] }) } : {}),
        ...(this.#chance(0.1) ? { type: this.#pick(["Opaque", "k.dev/custom"]) } : {}),
      };
    }
    return {
      ...(this.#chance(0.85) ? { spec: this.#spec(isPatch) } : {}),
      ...(this.#chance(0.3) ? { status: this.#status() } : {}),
      ...(this.#chance(0.02) ? { unknown: "u" } : {}),
    };
  }

  #spec(isPatch: boolean): JsonObject {
    const all: Record<string, () => Json> = {
      size: () => this.#pick([1, 2, 3, 3, 3, ...(this.#chance(0.1) ? [99, "big", null] : [])]),
      color: () => this.#pick(["red", "green", ...(this.#chance(0.1) ? ["mauve"] : [])]),
      word: () => this.#pick(["one", "two", ...(this.#chance(0.1) ? ["", "NO"] : [])]),
      tags: () => this.#some({ t1: ["a", "b"], t2: ["a"], t3: ["c"] }),
      list: () => this.#subset(["l1", "l2", "l3"]),
      set: () => this.#subset(["s1", "s2", "s3", ...(this.#chance(0.05) ? ["s1"] : [])]),
      items: () => this.#items(),
      ref: () => this.#some({ x: ["1", "2"], y: ["1"] }),
      nested: () => ({
        ...this.#some({ a: ["1", "2"] }),
        ...(this.#chance(0.3) ? { b: this.#chance(0.5) } : {}),
        ...(this.#chance(0.15) ? { maybe: null } : {}),
      }),
      open: () => this.#open(),
      either: () => this.#pick([1, "1", "50%"]),
      ...(this.#chance(0.02) ? { surplus: () => 1 } : {}),
    };
    const drawn: Record<string, Json> = {};
    for (const [field, draw] of Object.entries(all)) {
      if (this.#chance(0.3)) drawn[field] = isPatch && this.#chance(0.25) ? null : draw();
    }
    return drawn;
  }

  #open(): JsonObject {
    return {
      ...(this.#chance(0.5) ? { deep: this.#some({ a: ["1", "2"], b: ["1"] }) } : {}),
      ...(this.#chance(0.3) ? { things: this.#subset(["1", "2"]) } : {}),
      ...(this.#chance(0.3) ? { shape: this.#pick([1, "text", true, {}, [], { a: 1 }, [1]]) } : {}),
    };
  }

  #items(): Json {
    return this.#subset(["i1", "i2", "i3"]).map((name) => ({
      name,
      ...(this.#chance(0.6) ? { value: this.#pick([1, 2]) } : {}),
      ...(this.#chance(0.2) ? { note: "given" } : {}),
    }));
  }

  #status(): JsonObject {
    const conditions = this.#subset(["Ready", "Synced"]).map((type) => ({
      type,
      status: this.#pick(["True", "False"]),
    }));
    return {
      ...(this.#chance(0.6) ? { phase: this.#pick(["New", "Old"]) } : {}),
      ...(this.#chance(0.3) ? { count: this.#pick([1, 2, ...(this.#chance(0.1) ? ["many"] : [])]) } : {}),
      ...(this.#chance(0.5) ? { conditions } : {}),
    };
  }

  #patch(type: ResourceType): JsonObject {
    const metadata: Record<string, Json> = this.#chance(0.5) ? { ...this.#metadata() } : {};
    if (this.#chance(0.1)) metadata["labels"] = this.#pick([null, { app: null }]);
    if (this.#chance(0.2)) metadata["finalizers"] = null;
    if (this.#chance(0.1)) metadata["resourceVersion"] = this.#pick(["$rv", "$staleRv"]);
    if (this.#chance(0.04)) metadata["uid"] = this.#pick(["$uid", "wrong"]);
    if (this.#chance(0.03)) metadata["managedFields"] = [{}];
    const content = this.#content(type, true);
    return { ...(Object.keys(metadata).length > 0 ? { metadata } : {}), ...content };
  }

  #operations(type: ResourceType): readonly JsonObject[] {
    const field = type === configMaps || type === secrets ? "data" : "spec";
    const value = this.#content(type, false)[field] ?? {};
    const choices: readonly (() => JsonObject)[] = [
      () => ({ op: "test", path: "/metadata/uid", value: this.#pick(["$uid", "$uid", "$uid", "wrong"]) }),
      () => ({ op: "add", path: `/${field}`, value }),
      () => ({ op: "add", path: "/status", value: this.#status() }),
      () => ({ op: "add", path: "/metadata/finalizers/-", value: "k.dev/one" }),
      () => ({ op: "add", path: "/metadata/finalizers", value: ["k.dev/two"] }),
      () => ({ op: "remove", path: "/metadata/finalizers/0" }),
      () => ({ op: "remove", path: "/metadata/finalizers" }),
      () => ({ op: "replace", path: "/metadata/labels/app", value: this.#pick(["x", "y"]) }),
      () => ({ op: "remove", path: `/${field}` }),
      () => ({ op: "replace", path: "/spec/size", value: this.#pick([4, 5]) }),
      () => ({ op: "remove", path: "/spec/items/1" }),
      () => ({ op: "add", path: "/spec/list/0", value: "first" }),
      () => ({ op: "test", path: "/spec/size", value: 3 }),
    ];
    return Array.from({ length: 1 + Math.floor(this.#random() * 3) }, () => this.#pick(choices)());
  }

  #some(fields: Readonly<Record<string, readonly string[]>>): JsonObject {
    const drawn: Record<string, Json> = {};
    for (const [field, values] of Object.entries(fields))
      if (this.#chance(0.5)) drawn[field] = this.#pick(values);
    return drawn;
  }

  #subset(values: readonly string[]): readonly string[] {
    const kept = values.filter(() => this.#chance(0.5));
    return this.#chance(0.3) ? kept.toReversed() : kept;
  }

  #pick<T>(values: readonly T[]): T {
    const picked = values[Math.floor(this.#random() * values.length)];
    if (picked === undefined) throw new RangeError("nothing to pick from");
    return picked;
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }
}

/** Applying an empty map of labels changes an object or not depending on whether a second has passed: not to be compared. */
function withoutBlanks(object: JsonObject): JsonObject {
  const fields = Object.entries(objectAt(object, "metadata"));
  const metadata = fields.filter(
    ([, value]) => typeof value !== "object" || value === null || Object.keys(value).length > 0,
  );
  return { ...object, metadata: Object.fromEntries(metadata) };
}
