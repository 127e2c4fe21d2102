import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@klutch/kube";
import { UserError } from "../errors.ts";
import type { Rights } from "./rights.ts";
import { changeOf, Streams } from "./streams.ts";

const session = {
  id: "x",
  issuer: "https://i",
  subject: "ann",
  startedAt: 1,
  endsAt: Number.MAX_SAFE_INTEGER,
};
const rights: Rights = {
  viewer: {
    name: "Ann",
    seesAll: true,
    tenants: [],
    collections: ["clusters"],
    sessionEndsAt: "2026-11-28T12:00:00Z",
    provider: "Tests",
  },
  tenants: new Set(),
  all: new Set(["clusters"]),
  templates: new Set(),
};

/** Streams of a page with one row, whose rights are asked for again by `rightsOf`. */
function streamsWith(rightsOf: () => Promise<Rights>): Streams {
  const rows = new Map([["a", '{"id":"a"}']]);
  return new Streams({
    board: { visible: (name) => (name === "clusters" ? rows : new Map()) },
    rightsOf,
    sessions: { check: () => Promise.resolve() },
    clock: { ...systemClock, sleep: () => new Promise((done) => setImmediate(done)) },
  });
}

test("without an answer about rights the rows go, and the stream ends with the words", async () => {
  const words = new UserError(503, "The control plane does not say who may see what.", "Try again.");
  const streams = streamsWith(() => Promise.reject(words));
  const text = await new Response(streams.open(session, rights)).text();
  assert.match(text, /^event: viewer\n/);
  assert.match(text, /"collection":"clusters","upserts":\[\],"removed":\["a"\]/);
  assert.match(text, /event: end\ndata: \{"error":"The control plane does not say who may see what\."/);
});

test("a fault of the server ends a stream without its words", async () => {
  const streams = streamsWith(() => Promise.reject(new Error("token eyJ")));
  const text = await new Response(streams.open(session, rights)).text();
  assert.match(text, /event: end/);
  assert.doesNotMatch(text, /eyJ/);
});

test("one person opens a bounded number of streams, and all end when the server stops", async () => {
  const streams = streamsWith(() => Promise.resolve(rights));
  const open = Array.from({ length: 8 }, () => new Response(streams.open(session, rights)).text());
  assert.throws(() => streams.open(session, rights), /Too many pages/);
  streams.open({ ...session, subject: "bob" }, rights);
  streams.close();
  await Promise.all(open);
  assert.throws(() => streams.open(session, rights), /stops/);
});

test("a change holds the rows that came or changed and the ids of those that went", () => {
  const old = new Map([
    ["a", '{"id":"a"}'],
    ["b", '{"id":"b"}'],
    ["c", '{"id":"c"}'],
  ]);
  const next = new Map([
    ["a", '{"id":"a"}'],
    ["b", '{"id":"b","x":1}'],
    ["d", '{"id":"d"}'],
  ]);
  assert.deepEqual(JSON.parse(changeOf("clusters", old, next) ?? ""), {
    collection: "clusters",
    upserts: [{ id: "b", x: 1 }, { id: "d" }],
    removed: ["c"],
  });
});

test("nothing is sent when nothing changed", () => {
  const old = new Map([["a", "{}"]]);
  assert.equal(changeOf("clusters", old, old), undefined);
  assert.equal(changeOf("clusters", old, new Map(old)), undefined);
});
