import assert from "node:assert/strict";
import { test } from "node:test";
import { create, fromBinary, fromJsonString, toBinary } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { Ready, RunFunctionRequestSchema, RunFunctionResponseSchema } from "../gen/run_function_pb.js";
import { decodeRequest, encodeResponse } from "./codec.ts";
import type { ComposeResponse } from "./types.ts";

/** Numbers of the fields as Crossplane's own description of the protocol has them, so that ours are held against it. */
const wire = {
  request: { meta: 1, extraResources: 6, requiredResources: 8 },
  meta: { capabilities: 2 },
  capability: { requiredResources: 2, schemas: 5, unheardOf: 4_242 },
  response: { requirements: 5 },
  requirements: { extraResources: 1, resources: 2 },
} as const;

/** A message by number of field. */
type Fields = readonly (readonly [number: number, value: Uint8Array | string | number])[];

function message(fields: Fields): Uint8Array {
  const writer = new BinaryWriter();
  for (const [number, value] of fields) {
    if (typeof value === "number") writer.tag(number, 0).uint32(value);
    else if (typeof value === "string") writer.tag(number, 2).string(value);
    else writer.tag(number, 2).bytes(value);
  }
  return writer.finish();
}

/** The fields of a message that are texts or messages. */
function fieldsOf(bytes: Uint8Array): readonly (readonly [number, Uint8Array])[] {
  const reader = new BinaryReader(bytes);
  const found: (readonly [number, Uint8Array])[] = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (type === 2) found.push([number, reader.bytes()]);
    else reader.skip(type, number);
  }
  return found;
}

const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);

/** An entry of a map from a name to objects, each with its kind only. */
function entry(name: string, kinds: readonly string[]): Uint8Array {
  const items = kinds.map((kind) => {
    const value = message([[3, kind]]);
    const struct = message([
      [
        1,
        message([
          [1, "kind"],
          [2, value],
        ]),
      ],
    ]);
    return [1, message([[1, struct]])] as const;
  });
  return message([
    [1, name],
    [2, message(items)],
  ]);
}

const decode = (fields: Fields): ReturnType<typeof decodeRequest> =>
  decodeRequest(fromBinary(RunFunctionRequestSchema, message(fields)), 7);

test("what was required comes by its name, found or not, and what was not required is missing", () => {
  const { required } = decode([
    [wire.request.requiredResources, entry("two", ["A", "B"])],
    [wire.request.requiredResources, entry("none", [])],
    // What Crossplane writes for an object that does not exist: no value at all.
    [wire.request.requiredResources, message([[1, "absent"]])],
  ]);
  assert.deepEqual(required, { two: [{ kind: "A" }, { kind: "B" }], none: [], absent: [] });
  assert.deepEqual(decode([]).required, {});
});

test("an older Crossplane's field is read, too; of the same name the newer one counts", () => {
  const { required } = decode([
    [wire.request.extraResources, entry("old", ["Old"])],
    [wire.request.extraResources, entry("both", ["Old"])],
    [wire.request.requiredResources, entry("both", ["New"])],
  ]);
  assert.deepEqual(required, { old: [{ kind: "Old" }], both: [{ kind: "New" }] });
});

test("an item without an object is an empty object, and a name like that of a prototype is a name", () => {
  const item = message([
    [1, "odd"],
    [2, message([[1, new Uint8Array()]])],
  ]);
  const { required } = decode([
    [wire.request.requiredResources, item],
    [wire.request.requiredResources, entry("__proto__", ["A"])],
  ]);
  assert.deepEqual(Object.entries(required ?? {}), [
    ["odd", [{}]],
    ["__proto__", [{ kind: "A" }]],
  ]);
});

const asked: ComposeResponse = {
  resources: {},
  required: { mine: { apiVersion: "example.org/v1", kind: "Thing", matchLabels: { team: "a" } } },
};

/** The bytes of field `requirements`, by number of its fields. */
function requirementsOf(capabilities: readonly number[]): readonly (readonly [number, Uint8Array])[] {
  const meta = message(capabilities.map((one) => [wire.meta.capabilities, one] as const));
  const request = fromBinary(RunFunctionRequestSchema, message([[wire.request.meta, meta]]));
  const bytes = toBinary(RunFunctionResponseSchema, encodeResponse(request, asked));
  const [found] = fieldsOf(bytes).filter(([number]) => number === wire.response.requirements);
  return fieldsOf(found?.[1] ?? new Uint8Array());
}

test("requirements are written as labels, in the field that this Crossplane reads", () => {
  const { requiredResources, schemas, unheardOf } = wire.capability;
  for (const [capabilities, number] of [
    [[requiredResources], wire.requirements.resources],
    [[unheardOf, schemas, requiredResources], wire.requirements.resources],
    [[], wire.requirements.extraResources],
    [[schemas, unheardOf], wire.requirements.extraResources],
  ] as const) {
    const [[field, pair] = [0, new Uint8Array()], ...others] = requirementsOf(capabilities);
    assert.deepEqual([field, others], [number, []]);
    const [name, selector] = fieldsOf(pair).map(([, bytes]) => bytes);
    assert.equal(text(name), "mine");
    const [apiVersion, kind, labels] = fieldsOf(selector ?? new Uint8Array());
    assert.deepEqual(
      [apiVersion, kind].map((one) => [one?.[0], text(one?.[1])]),
      [
        [1, "example.org/v1"],
        [2, "Thing"],
      ],
    );
    assert.equal(labels?.[0], 4);
    const [label] = fieldsOf(labels[1]);
    assert.deepEqual(
      fieldsOf(label?.[1] ?? new Uint8Array()).map(([, bytes]) => text(bytes)),
      ["team", "a"],
    );
  }
});

test("an answer that requires nothing says nothing of it, and one without a label is not sent", () => {
  const request = create(RunFunctionRequestSchema, {});
  assert.equal(encodeResponse(request, { resources: {} }).requirements, undefined);
  const required = { all: { apiVersion: "v1", kind: "Secret", matchLabels: {} } };
  assert.throws(() => encodeResponse(request, { resources: {}, required }), /all has no label.*kind Secret/);
});

test("a composite that must not be ready yet says so; else what earlier steps say of it is kept", () => {
  const readyOf = (answer: ComposeResponse, before?: Ready): Ready | undefined =>
    encodeResponse(
      create(
        RunFunctionRequestSchema,
        before === undefined ? {} : { desired: { composite: { ready: before } } },
      ),
      answer,
    ).desired?.composite?.ready;
  assert.equal(readyOf({ resources: {}, isReady: false }), Ready.FALSE);
  assert.equal(readyOf({ resources: {}, isReady: false }, Ready.TRUE), Ready.FALSE);
  assert.equal(readyOf({ resources: {} }, Ready.FALSE), Ready.FALSE);
  assert.equal(readyOf({ resources: {} }), Ready.UNSPECIFIED);
});

test("whatever is required and found goes over the wire and back as it is", () => {
  const name = fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", ""));
  // As text first: JSON does not know minus zero.
  const json = fc.json({ maxDepth: 2 }).map((text): unknown => JSON.parse(text));
  const plain = { noNullPrototype: true, maxKeys: 3 } as const;
  const found = fc.dictionary(name, fc.array(fc.dictionary(name, json, plain)), plain);
  const labels = fc.dictionary(name, fc.string(), { ...plain, minKeys: 1 });
  fc.assert(
    fc.property(found, labels, name, (things, matchLabels, called) => {
      const items = Object.entries(things).map(
        ([key, objects]) => [key, { items: objects.map((resource) => ({ resource })) }] as const,
      );
      const body = JSON.stringify({ requiredResources: Object.fromEntries(items) });
      const request = fromJsonString(RunFunctionRequestSchema, body);
      const sent = fromBinary(RunFunctionRequestSchema, toBinary(RunFunctionRequestSchema, request));
      assert.deepEqual({ ...decodeRequest(sent, 7).required }, { ...things });
      const required = Object.fromEntries([[called, { apiVersion: "a/v1", kind: "K", matchLabels }]]);
      const answer = encodeResponse(sent, { resources: {}, required });
      const read = fromBinary(RunFunctionResponseSchema, toBinary(RunFunctionResponseSchema, answer));
      const [selector] = Object.entries(read.requirements?.extraResources ?? {});
      assert.equal(selector?.[0], called);
      assert.deepEqual({ ...selector[1].matchLabels?.labels }, { ...matchLabels });
    }),
  );
});
