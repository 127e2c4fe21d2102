import assert from "node:assert/strict";
import { test } from "node:test";
import { networkAddresses, networkCount, overlaps } from "./network.ts";

test("every network and node has a name that Linux takes for an interface, and an address that no other has", () => {
  const networks = [0, 1, networkCount - 1].map((number) => networkAddresses(number));
  const nodes = networks.flatMap(({ node }) => [0, 1, 252].map((number) => node(number)));
  const names = [...networks.map(({ bridge }) => bridge), ...nodes.map(({ name }) => name)];
  const addresses = [...networks.map(({ host }) => host), ...nodes.map(({ address }) => address)];
  assert.ok(names.every((name) => name.length <= 15));
  assert.equal(new Set(names).size, names.length);
  assert.equal(new Set(addresses).size, addresses.length);
  for (const { subnet, host, node } of networks)
    assert.ok(overlaps(subnet, host) && overlaps(subnet, node(252).address));
  assert.throws(() => networkAddresses(0).node(253), /10\.213\.0\.0\/24 has no room/);
});

test("ranges overlap when they have an address in common, and words such as default are no range", () => {
  assert.ok(overlaps("10.213.4.0/24", "10.0.0.0/8"));
  assert.ok(overlaps("10.213.4.7", "10.213.4.0/24"));
  assert.ok(overlaps("0.0.0.0/0", "10.213.4.0/24"));
  assert.ok(!overlaps("10.213.4.0/24", "10.213.5.0/24"));
  assert.ok(!overlaps("10.213.4.0/24", "default"));
});
