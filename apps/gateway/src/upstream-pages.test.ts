import assert from "node:assert/strict";
import { test } from "node:test";
import { TransportError, type WireRequest } from "@klutch/kube";
import type { CollectionRequest } from "./request.ts";
import { pagesOf, readPage } from "./upstream-pages.ts";

const widgets: CollectionRequest = {
  group: "a.b",
  version: "v1",
  plural: "widgets",
  namespace: "red",
  from: "latest",
  watch: undefined,
};
const objectOf = (name: string): string =>
  JSON.stringify({
    apiVersion: "a.b/v1",
    kind: "Widget",
    metadata: { namespace: "red", name, resourceVersion: "1" },
  });

/** An API server with objects of which `fitting` are as many as a reader takes. */
function serverOf(names: readonly string[], { fitting }: { readonly fitting: number }) {
  const asked: { limit: number; token: string | null }[] = [];
  const send = ({ path }: WireRequest) => {
    const parameters = new URLSearchParams(path.split("?")[1]);
    const [limit, token] = [Number(parameters.get("limit")), parameters.get("continue")];
    asked.push({ limit, token });
    const items = names.slice(Number(token ?? 0)).slice(0, limit);
    const next = Number(token ?? 0) + items.length;
    const metadata = { resourceVersion: "9", ...(next < names.length ? { continue: String(next) } : {}) };
    const head = JSON.stringify({ apiVersion: "a.b/v1", kind: "WidgetList", metadata }).slice(0, -1);
    return Promise.resolve({
      status: 200,
      retryAfter: undefined,
      headers: {},
      body: (async function* () {})(),
      discard: () => Promise.resolve(),
      text: (most: number) => {
        assert.ok(most <= 16 * 1024 * 1024);
        if (items.length > fitting) return Promise.reject(new TransportError("TooLarge", "too large"));
        return Promise.resolve(`${head},"items":[${items.map(objectOf).join(",")}]}\n`);
      },
    });
  };
  const reader = { transport: { send }, authorization: "Bearer x", signal: new AbortController().signal };
  return { asked, reader };
}

const names = Array.from({ length: 12 }, (_, index) => `w${index}`);

test("a page of objects that are too large together is asked for again with fewer of them", async () => {
  const { asked, reader } = serverOf(names, { fitting: 5 });
  const first = await readPage(reader, widgets);
  assert.ok(first !== undefined);
  let isOver = false;
  const seen: number[] = [];
  const turn = { [Symbol.dispose]: () => void (isOver = true) };
  for await (const objects of pagesOf(reader, widgets, first, turn)) {
    assert.equal(isOver, false);
    seen.push(objects.length);
  }
  assert.deepEqual(seen, [5, 5, 2]);
  assert.deepEqual(
    asked.map(({ limit }) => limit),
    [500, 50, 5, 500, 50, 5, 500],
  );
  assert.equal(isOver, true, "the turn is over with the last page");
});

test("objects that are too large even so are left to the API server", async () => {
  const { reader } = serverOf(names, { fitting: 4 });
  assert.equal(await readPage(reader, widgets), undefined);
});
