/** Tests that the checks of the fault scenarios find the faults that they exist for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceNamespaceName } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import type { AuditedWrite } from "@klutch/kube-testing";
import { tenants } from "../../security/bound-fixture.ts";
import { thief, writesWithoutLease } from "./audit.ts";
import { Ledger } from "./ledger.ts";
import { claimWatch, upstreamWatch } from "./observer.ts";
import { formatPlan, planOf } from "./plan.ts";

const runs = [
  { identity: "a", pid: 1, address: "127.0.1.1" },
  { identity: "b", pid: 2, address: "127.0.1.2" },
];
const account = { subresource: "", userName: "agent" };
const base = { ...account, verb: "patch", resource: "widgets", name: "w", code: 200, holder: undefined };
const lease = (holder: string, time: number): AuditedWrite => ({
  ...base,
  resource: "leases",
  holder,
  address: "",
  receivedAt: time,
  completedAt: time + 5,
});
const write = (address: string, time: number): AuditedWrite => ({
  ...base,
  address,
  receivedAt: time,
  completedAt: time + 5,
});

test("a seed always gives the same plan, and another seed another", () => {
  assert.equal(formatPlan(planOf(7)), formatPlan(planOf(7)));
  assert.notEqual(formatPlan(planOf(7)), formatPlan(planOf(8)));
});

test("a write after the lease passed on is seen, on either cluster", () => {
  const leases = [lease("a", 1_000), lease("b", 2_000)];
  const late = write("127.0.1.1", 2_010);
  assert.equal(writesWithoutLease([...leases, late], [], runs).length, 1);
  const [problem = ""] = writesWithoutLease(leases, [late], runs);
  assert.match(
    problem,
    /^a \(127\.0\.1\.1\) wrote without the lease, held by b: patch widgets w of the provider/,
  );
});

test("writes of the holder, and of either one while the lease is on its way, are fine", () => {
  const leases = [lease("a", 1_000), lease("b", 2_000)];
  const writes = [
    write("127.0.1.1", 1_001),
    write("127.0.1.1", 1_999),
    write("127.0.1.1", 2_003),
    write("127.0.1.2", 2_003),
    write("127.0.1.2", 9_000),
    write("127.0.0.1", 1_500),
  ];
  assert.deepEqual(writesWithoutLease(leases, writes, runs), []);
});

test("who was robbed may go on until its renew deadline, and not longer", () => {
  const leases = [lease("a", 1_000), lease(thief, 2_000)];
  assert.deepEqual(writesWithoutLease(leases, [write("127.0.1.1", 11_000)], runs), []);
  assert.equal(writesWithoutLease(leases, [write("127.0.1.1", 13_000)], runs).length, 1);
  assert.equal(writesWithoutLease(leases, [write("127.0.1.2", 3_000)], runs).length, 1);
});

function widget(uid: string, id: string, spec: object = {}, more: object = {}): DynamicObject {
  const metadata = { namespace: serviceNamespaceName(tenants.a, "app"), name: "w", uid, ...more };
  return { apiVersion: "v1", kind: "Widget", metadata, spec: { incarnation: id, ...spec } };
}

test("an upstream object that goes without its claim's deletion, a second one and an old spec are seen", () => {
  const ledger = new Ledger(1);
  const { id } = ledger.open("app/w");
  const watch = upstreamWatch(ledger);
  watch.seen(widget("1", id, { revision: 5 }));
  assert.equal(ledger.problems.length, 0);
  watch.seen(widget("1", id, { revision: 4 }));
  watch.seen(widget("2", id, { revision: 5 }, { name: "other" }));
  watch.seen(widget("3", "unknown", {}, { namespace: "elsewhere" }));
  watch.gone(widget("1", id));
  const expected = [
    /went back from revision 5 to 4/,
    /has two upstream objects/,
    /no claim's place/,
    /nobody deleted/,
  ];
  assert.equal(ledger.problems.length, expected.length);
  expected.forEach((pattern, index) => assert.match(ledger.problems[index] ?? "", pattern));
});

test("a deletion that its user asked for is no problem", () => {
  const ledger = new Ledger(1);
  const incarnation = ledger.open("app/w");
  incarnation.deletion = "sent";
  const deleting = widget("1", incarnation.id, {}, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  for (const watch of [upstreamWatch(ledger), claimWatch(ledger)]) {
    watch.seen(deleting);
    watch.gone(deleting);
  }
  assert.deepEqual(ledger.problems, []);
});

test("a status that goes back and a claim that vanishes are seen", () => {
  const ledger = new Ledger(1);
  const { id } = ledger.open("app/w");
  const watch = claimWatch(ledger);
  for (const counter of [1, 3, 2]) watch.seen({ ...widget("1", id), status: { counter } });
  watch.gone(widget("1", id));
  assert.equal(ledger.problems.length, 2);
});
