/**
 * Random operations for the comparison of model and real server. They are data: `$uid`, `$rv` and `$staleRv` stand for what that server
 * gave the object, so that the same operation can be sent to both. Shares are of 100.
 */
import fc from "fast-check";
import type { KubeClient } from "@klutch/kube";
import { apiVersionOf, configMaps, type KubeObject, type ResourceType, secrets } from "@klutch/kube-core";
import { type Json, type JsonObject, objectAt } from "../json.ts";
import { isBlank } from "../metadata.ts";
import { mergePatched } from "../patches.ts";
import { gadgets, widgets } from "./compared-types.ts";

/** The verbs, and how often each is drawn. An `edit` is the update that most programs send: read, change, write back. */
const verbs = {
  create: 2,
  replace: 1,
  edit: 2,
  apply: 4,
  mergePatch: 2,
  jsonPatch: 2,
  delete: 1,
  get: 1,
  list: 1,
};

/** One operation. */
export interface Operation {
  readonly verb: keyof typeof verbs;
  readonly type: ResourceType;
  readonly namespace: string;
  readonly name: string;
  readonly manager: string;
  readonly subresource: "status" | undefined;
  readonly force: boolean;
  /** The object, patch, list of operations, delete options or label selector. */
  readonly body: Json;
}

type Drawn<T extends Json = Json> = fc.Arbitrary<T>;

const one = (...values: readonly Json[]): Drawn => fc.constantFrom(...values);
const chance = (share: number): Drawn<boolean> => fc.nat(99).map((drawn) => drawn < share);
const mostly = (usual: Drawn, share: number, rare: Drawn): Drawn =>
  fc.oneof({ weight: 100 - share, arbitrary: usual }, { weight: share, arbitrary: rare });
const subset = (...values: readonly string[]): Drawn<readonly string[]> => fc.shuffledSubarray([...values]);

/** An object that has each field with its share. */
function object(fields: Readonly<Record<string, readonly [share: number, value: Drawn]>>): Drawn<JsonObject> {
  const entries = Object.entries(fields).map(([name, [share, value]]) =>
    fc.tuple(chance(share), value).map(([has, drawn]) => (has ? [[name, drawn] as const] : [])),
  );
  return fc.tuple(...entries).map((drawn) => Object.fromEntries(drawn.flat()));
}

const some = (fields: Readonly<Record<string, readonly Json[]>>): Drawn<JsonObject> =>
  object(Object.fromEntries(Object.entries(fields).map(([name, values]) => [name, [50, one(...values)]])));

/** A list of objects that are told apart by one field. */
const keyed = (key: string, names: readonly string[], rest: Drawn<JsonObject>): Drawn =>
  subset(...names).chain((drawn) =>
    fc.tuple(...drawn.map((name) => rest.map((fields) => ({ [key]: name, ...fields })))),
  );

const specFields: Readonly<Record<string, Drawn>> = {
  size: mostly(one(1, 2, 3, 3, 3), 4, one(99, "big", null)),
  color: mostly(one("red", "green"), 4, one("mauve")),
  word: mostly(one("one", "two"), 5, one("", "NO")),
  tags: some({ t1: ["a", "b"], t2: ["a"], t3: ["c"] }),
  list: subset("l1", "l2", "l3"),
  set: mostly(subset("s1", "s2", "s3"), 2, one(["s1", "s2", "s1"])),
  items: keyed("name", ["i1", "i2", "i3"], object({ value: [60, one(1, 2)], note: [20, one("given")] })),
  ref: some({ x: ["1", "2"], y: ["1"] }),
  nested: object({ a: [50, one("1", "2")], b: [30, one(true, false)], maybe: [15, one(null)] }),
  open: object({
    deep: [50, some({ a: ["1", "2"], b: ["1"] })],
    things: [30, subset("1", "2")],
    shape: [30, one(1, "text", true, {}, [], { a: 1 }, [1])],
  }),
  either: one(1, "1", "50%"),
};

const specOf = (isPatch: boolean): Drawn<JsonObject> =>
  object({
    ...Object.fromEntries(
      Object.entries(specFields).map(([name, value]) => [
        name,
        [30, mostly(value, isPatch ? 25 : 0, one(null))],
      ]),
    ),
    surplus: [1, one(1)],
  });

const status = object({
  phase: [60, one("New", "Old")],
  count: [30, mostly(one(1, 2), 4, one("many"))],
  conditions: [50, keyed("type", ["Ready", "Synced"], object({ status: [100, one("True", "False")] }))],
});

const metadata = object({
  labels: [50, some({ app: ["x", "y"], tier: ["1", "2"], "k.dev/z": ["z"] })],
  annotations: [40, some({ note: ["p", "q"], "k.dev/a": ["1", ""] })],
  finalizers: [25, subset("k.dev/one", "k.dev/two")],
  ownerReferences: [
    6,
    one("u1", "u2").map((uid) => [{ apiVersion: "v1", kind: "ConfigMap", name: "o", uid }]),
  ],
});

function contentOf(type: ResourceType, isPatch: boolean): Drawn<JsonObject> {
  if (type === configMaps)
    return object({ data: [85, some({ k1: ["v1", "v2"], k2: ["v1", ""], k3: ["x"] })] });
  if (type === secrets)
    return object({
      data: [85, some({ user: ["YQ==", "Yg=="], password: ["Yw=="] })],
      type: [10, one("Opaque", "k.dev/custom")],
    });
  return object({ spec: [85, specOf(isPatch)], status: [30, status], unknown: [2, one("u")] });
}

const uid = one("$uid", "$uid", "wrong");
const version = one("$rv", "$staleRv");

function objectOf(type: ResourceType, ref: JsonObject, identity: Drawn<JsonObject>): Drawn<JsonObject> {
  return fc.tuple(metadata, identity, contentOf(type, false)).map(([more, own, content]) => ({
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: { ...ref, ...more, ...own },
    ...content,
  }));
}

function patchOf(type: ResourceType): Drawn<JsonObject> {
  const changes = object({
    labels: [10, one(null, { app: null })],
    finalizers: [20, one(null)],
    resourceVersion: [10, version],
    uid: [4, one("$uid", "wrong")],
    managedFields: [3, one([{}])],
  });
  return fc
    .tuple(chance(50), metadata, changes, contentOf(type, true))
    .map(([has, more, own, content]) => ({ metadata: { ...(has ? more : {}), ...own }, ...content }));
}

function jsonPatchOf(type: ResourceType): Drawn {
  const field = type === configMaps || type === secrets ? "data" : "spec";
  const step = (op: string, path: string, value?: Drawn): Drawn =>
    (value ?? one(null)).map((drawn) => ({ op, path, ...(value === undefined ? {} : { value: drawn }) }));
  const steps = fc.oneof(
    step("test", "/metadata/uid", one("$uid", "$uid", "$uid", "wrong")),
    step(
      "add",
      `/${field}`,
      contentOf(type, false).map((content) => content[field] ?? {}),
    ),
    step("add", "/status", status),
    step("add", "/metadata/finalizers/-", one("k.dev/one")),
    step("add", "/metadata/finalizers", one(["k.dev/two"])),
    step("remove", "/metadata/finalizers/0"),
    step("remove", "/metadata/finalizers"),
    step("replace", "/metadata/labels/app", one("x", "y")),
    step("remove", `/${field}`),
    step("replace", "/spec/size", one(4, 5)),
    step("remove", "/spec/items/1"),
    step("add", "/spec/list/0", one("first")),
    step("test", "/spec/size", one(3)),
  );
  return fc.array(steps, { minLength: 1, maxLength: 3 });
}

/** Applying an empty map of labels changes an object or not depending on whether a second has passed: not to be compared. */
function withoutBlanks(object: JsonObject): JsonObject {
  const fields = Object.entries(objectAt(object, "metadata")).filter(([, value]) => !isBlank(value));
  return { ...object, metadata: Object.fromEntries(fields) };
}

function bodyOf(verb: Operation["verb"], type: ResourceType, ref: JsonObject): Drawn {
  switch (verb) {
    case "create":
      return objectOf(type, ref, object({ resourceVersion: [3, one("$rv")] }));
    case "replace":
      return objectOf(
        type,
        ref,
        object({ resourceVersion: [80, one("$rv", "$rv", "$rv", "$staleRv")], uid: [30, uid] }),
      );
    case "apply":
      return objectOf(type, ref, object({ resourceVersion: [10, version], uid: [20, uid] })).map(
        withoutBlanks,
      );
    case "edit":
    case "mergePatch":
      return patchOf(type);
    case "jsonPatch":
      return jsonPatchOf(type);
    case "delete":
      return object({
        preconditions: [45, object({ uid: [60, uid], resourceVersion: [40, version] })],
        propagationPolicy: [15, one("Background", "Foreground", "Orphan")],
      });
    case "get":
    case "list":
      return one("app=x", "app!=x", "app in (x,y)", "!app", "app");
  }
}

/** Draws operations; a seed gives the same ones each time. */
export function drawOperations(seed: number, count: number, namespace: string): readonly Operation[] {
  const verb = fc.oneof(
    ...Object.entries(verbs).map(([name, weight]) => ({
      weight,
      arbitrary: fc.constant(name as Operation["verb"]),
    })),
  );
  const type = fc.constantFrom(widgets, widgets, widgets, gadgets, gadgets, configMaps, secrets);
  const draft = fc.record({
    verb,
    type,
    name: fc.constantFrom("a", "b", "c"),
    manager: fc.constantFrom("alpha", "beta"),
    isStatus: chance(25),
    force: chance(60),
  });
  const operation = draft.chain(({ isStatus, ...drawn }) => {
    const { name } = drawn;
    const hasStatus = drawn.type === widgets && !["create", "delete", "get", "list"].includes(drawn.verb);
    const subresource = isStatus && hasStatus ? ("status" as const) : undefined;
    const body = bodyOf(drawn.verb, drawn.type, { name, namespace });
    return body.map((content) => ({ ...drawn, namespace, subresource, body: content }));
  });
  return fc.sample(operation, { seed, numRuns: count, unbiased: true });
}

/** Sends an operation whose placeholders are filled in. */
export async function perform(client: KubeClient, operation: Operation, body: Json): Promise<unknown> {
  const { verb, type, namespace, name, subresource, force } = operation;
  const ref = { namespace, name };
  const options = { fieldManager: operation.manager, subresource };
  const object = body as unknown as KubeObject;
  switch (verb) {
    case "create":
    case "replace":
      return client[verb](type, object, options);
    case "edit": {
      const found = await client.get<KubeObject>(type, ref);
      const edited = mergePatched(found as unknown as JsonObject, body);
      return client.replace(type, edited as unknown as KubeObject, options);
    }
    case "apply":
      return client.apply(type, object, { ...options, force });
    case "mergePatch":
      return client.mergePatch(type, ref, body as object, options);
    case "jsonPatch":
      return client.jsonPatch(type, ref, body as readonly object[], options);
    case "delete":
      return client.delete(type, ref, body as object);
    case "get":
      return client.get(type, ref);
    case "list":
      return (await client.list(type, { namespace, labelSelector: body as string })).items;
  }
}
