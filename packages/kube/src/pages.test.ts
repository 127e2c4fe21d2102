import assert from "node:assert/strict";
import { test } from "node:test";
import type { DynamicObject, ResourceType } from "@klutch/kube-core";
import { TransportError } from "./errors.ts";
import { listPages } from "./pages.ts";
import type { KubeClient, ListOptions, ListPage } from "./types.ts";

const type: ResourceType = { group: "", version: "v1", plural: "things", kind: "Thing", namespaced: false };

/** A list of `count` objects, the one at `index` of `lengthOf(index)` characters; records its requests. */
function listOf(
  count: number,
  lengthOf: (index: number) => number,
): { readonly client: Pick<KubeClient, "list">; readonly asked: ListOptions[] } {
  const asked: ListOptions[] = [];
  const list = async (_type: ResourceType, options: ListOptions = {}): Promise<ListPage<DynamicObject>> => {
    asked.push(options);
    const start = Number(options.continueToken ?? 0);
    const end = Math.min(count, start + (options.limit ?? count));
    const indexes = Array.from({ length: end - start }, (_, index) => start + index);
    return {
      items: indexes.map((index) => ({ apiVersion: "v1", kind: "Thing", metadata: { name: `t${index}` } })),
      resourceVersion: "7",
      length: indexes.reduce((sum, index) => sum + lengthOf(index), 0),
      ...(end < count ? { continueToken: String(end) } : {}),
    };
  };
  return { client: { list: list as KubeClient["list"] }, asked };
}

async function lengthsOf(count: number, lengthOf: (index: number) => number): Promise<readonly number[]> {
  const lengths: number[] = [];
  for await (const { length } of listPages(listOf(count, lengthOf).client, type)) lengths.push(length);
  return lengths;
}

test("pages hold every object once, in order, whatever their sizes", async () => {
  for (const count of [0, 1, 32, 33, 5_000]) {
    const names: (string | undefined)[] = [];
    for await (const { items } of listPages(listOf(count, (index) => (index * 7919) % 90_000).client, type))
      names.push(...items.map(({ metadata }) => metadata.name));
    assert.deepEqual(
      names,
      Array.from({ length: count }, (_, index) => `t${index}`),
    );
  }
});

test("small objects come in few pages, large ones in small pages", async () => {
  const small = await lengthsOf(10_000, () => 300);
  assert.ok(small.length < 15, `${small.length} pages`);
  const large = await lengthsOf(500, () => 200_000);
  assert.ok(Math.max(...large.slice(1)) <= 2 * 1024 * 1024, `pages of ${large.join(", ")}`);
  const huge = await lengthsOf(40, () => 1_500_000);
  assert.deepEqual(new Set(huge.slice(1)), new Set([1_500_000]));
});

test("a page on which nothing matched does not make the next ones small", async () => {
  const asked: (number | undefined)[] = [];
  const pages = [0, 0, 5];
  const list = async (_type: ResourceType, { limit }: ListOptions = {}): Promise<ListPage<DynamicObject>> => {
    const count = pages[asked.length] ?? 0;
    asked.push(limit);
    const items = Array.from({ length: count }, () => ({ apiVersion: "v1", kind: "Thing", metadata: {} }));
    const rest = asked.length < pages.length ? { continueToken: "x" } : {};
    return { items, resourceVersion: "7", length: 100 + count * 100, ...rest };
  };
  for await (const _page of listPages({ list: list as KubeClient["list"] }, type));
  assert.deepEqual(asked, [32, 256, 1000]);
});

for (const [what, itemsOf, most] of [
  ["empty pages", 0, 100],
  ["pages of one object", 1, 2_000],
] as const) {
  test(`a list without an end is given up: ${what}`, async () => {
    let pages = 0;
    const list = async (): Promise<ListPage<DynamicObject>> => {
      const items = Array.from({ length: itemsOf }, () => ({
        apiVersion: "v1",
        kind: "Thing",
        metadata: {},
      }));
      return { items, resourceVersion: "7", length: 100, continueToken: String(++pages) };
    };
    const all = Array.fromAsync(listPages({ list: list as KubeClient["list"] }, type));
    await assert.rejects(all, {
      code: "Endless",
      message: new RegExp(`list things: the server sent ${most} pages`),
    });
    assert.equal(pages, most);
  });
}

test("a limit that the caller gives holds for all pages, and scope and signal are passed on", async () => {
  const { client, asked } = listOf(10, () => 100);
  const { signal } = new AbortController();
  for await (const _page of listPages(client, type, { limit: 3, namespace: "a", signal }));
  assert.deepEqual(
    asked.map(({ limit, namespace, continueToken }) => [limit, namespace, continueToken]),
    [
      [3, "a", undefined],
      [3, "a", "3"],
      [3, "a", "6"],
      [3, "a", "9"],
    ],
  );
  assert.ok(asked.every((options) => options.signal === signal));
});

test("the next page is asked for before the caller is done with the last one", async () => {
  const { client, asked } = listOf(100, () => 100);
  const seen: number[] = [];
  for await (const _page of listPages(client, type, { limit: 40 })) seen.push(asked.length);
  assert.deepEqual(seen, [2, 3, 3]);
});

test("a page that fails ends the list with its error, and nothing is left unhandled when the caller stops before", async () => {
  const good = listOf(100, () => 100).client;
  let calls = 0;
  const failing: Pick<KubeClient, "list"> = {
    list: (...parameters) =>
      ++calls === 2 ? Promise.reject(new Error("expired")) : good.list(...parameters),
  };
  const seen: number[] = [];
  await assert.rejects(async () => {
    for await (const { items } of listPages(failing, type)) seen.push(items.length);
  }, /expired/);
  assert.deepEqual(seen, [32]);
  calls = 0;
  for await (const _page of listPages(failing, type)) break;
  // An unhandled rejection would fail the file.
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(calls, 2);
});

test("a page that is longer than may be read is asked for again with fewer objects, from the same place", async () => {
  const { client, asked } = listOf(2_000, (index) => (index < 1_000 ? 10 : 1_500_000));
  const list: KubeClient["list"] = async (resource, options) => {
    const page = await client.list<DynamicObject>(resource, options);
    if (page.length > 64_000_000) throw new TransportError("TooLarge", "too long");
    return page as never;
  };
  const names: (string | undefined)[] = [];
  for await (const { items } of listPages({ list }, type))
    names.push(...items.map(({ metadata }) => metadata.name));
  assert.deepEqual(
    names,
    Array.from({ length: 2_000 }, (_, index) => `t${index}`),
  );
  assert.ok(asked.length < 2_000);
});

test("one object that is longer than may be read fails the list", async () => {
  const list: KubeClient["list"] = () => Promise.reject(new TransportError("TooLarge", "too long"));
  await assert.rejects(Array.fromAsync(listPages({ list }, type)), { code: "TooLarge" });
});
