import assert from "node:assert/strict";
import { test } from "node:test";
import type { Catalog } from "@klutch/osb";
import { VirtualClock } from "@klutch/kube-testing";
import { CachedCatalog } from "./catalog-cache.ts";

const catalogNumber = (number: number): Catalog => ({
  services: [
    {
      id: `${number}`,
      name: "s",
      description: "",
      bindable: true,
      instancesRetrievable: true,
      bindingsRetrievable: true,
      planUpdateable: true,
      plans: [],
    },
  ],
});

/** Fetches that end when the test says so. */
function fetches() {
  const clock = new VirtualClock();
  const open: PromiseWithResolvers<Catalog>[] = [];
  const signals: AbortSignal[] = [];
  const cache = new CachedCatalog(clock, ({ signal }) => {
    const fetch = Promise.withResolvers<Catalog>();
    signal.addEventListener("abort", () => fetch.reject(signal.reason));
    signals.push(signal);
    open.push(fetch);
    return fetch.promise;
  });
  const get = (signal = new AbortController().signal) => cache.get({ signal });
  return { clock, open, signals, get };
}

test("all who need an expired catalog at the same time share one flight, and after a minute there is the next one", async () => {
  const { clock, open, get } = fetches();
  const first = [get(), get(), get()];
  assert.equal(open.length, 1);
  open[0]?.resolve(catalogNumber(1));
  for (const catalog of await Promise.all(first)) assert.equal(catalog.services[0]?.id, "1");
  await clock.advance(60_000);
  assert.equal((await get()).services[0]?.id, "1");
  await clock.advance(1);
  const second = [get(), get()];
  assert.equal(open.length, 2);
  open[1]?.resolve(catalogNumber(2));
  for (const catalog of await Promise.all(second)) assert.equal(catalog.services[0]?.id, "2");
});

test("a fetch that fails fails for all who wait for it, and the next one asks again", async () => {
  const { open, get } = fetches();
  const both = [get(), get()];
  open[0]?.reject(new Error("out of order"));
  for (const one of both) await assert.rejects(one, /out of order/);
  const next = get();
  assert.equal(open.length, 2);
  open[1]?.resolve(catalogNumber(1));
  assert.equal((await next).services[0]?.id, "1");
});

test("who gives up leaves the flight to the others; it ends when no one waits any more", async () => {
  const { open, signals, get } = fetches();
  const [impatient, other] = [new AbortController(), new AbortController()];
  const [left, stayed] = [get(impatient.signal), get(other.signal)];
  impatient.abort(new Error("no more time"));
  await assert.rejects(left, /no more time/);
  assert.equal(signals[0]?.aborted, false);
  open[0]?.resolve(catalogNumber(1));
  assert.equal((await stayed).services[0]?.id, "1");
});

test("a flight that no one waits for is ended, and does not stand in the way of the next", async () => {
  const { open, signals, get } = fetches();
  const impatient = new AbortController();
  const left = get(impatient.signal);
  impatient.abort(new Error("no more time"));
  await assert.rejects(left, /no more time/);
  assert.equal(signals[0]?.aborted, true);
  const next = get();
  assert.equal(open.length, 2);
  open[1]?.resolve(catalogNumber(2));
  assert.equal((await next).services[0]?.id, "2");
});

test("who has given up already asks for nothing", async () => {
  const { open, get } = fetches();
  await assert.rejects(get(AbortSignal.abort(new Error("no more time"))), /no more time/);
  assert.equal(open.length, 0);
});
