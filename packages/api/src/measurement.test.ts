import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ServiceInstance } from "./kinds/service-instance.ts";
import {
  bytesAttribute,
  idleDaysOf,
  lastSessionAttribute,
  type Measurement,
  measuredOf,
  mostInstanceBytes,
  nextMeasurement,
  toldBy,
} from "./measurement.ts";
import { missingAnnotation, usageAnnotation } from "./usage.ts";

const now = Date.UTC(2026, 10, 29, 12);
const since = "2026-01-01T00:00:00Z";
const [hourMs, dayMs] = [3_600_000, 86_400_000];
const told = (bytes: unknown, lastSession?: unknown) =>
  toldBy({ [bytesAttribute]: bytes, [lastSessionAttribute]: lastSession }, { now, since });

test("a size is a whole number of bytes up to 1 PiB, or its decimal text", () => {
  for (const size of [0, 1, 7_000_000_000, mostInstanceBytes]) {
    assert.deepEqual(told(size), { bytes: size });
    assert.deepEqual(told(String(size)), { bytes: size });
  }
});

test("a size that cannot be is unknown, and not 0", () => {
  const texts = ["", " ", "-1", "1e300", "0x10", "1.5", "7 GiB", "<b>7</b>", "9".repeat(400)];
  const others = [null, true, [], [7], {}, { bytes: 7 }];
  for (const size of [1e300, -1, -0.5, 0.5, mostInstanceBytes + 1, Number.NaN, ...texts, ...others])
    assert.deepEqual(told(size), {}, JSON.stringify(size));
});

test("a session has a time of RFC 3339, which is kept in UTC", () => {
  assert.deepEqual(told(undefined, "2026-11-20T10:00:00.123+02:00"), { lastSession: "2026-11-20T08:00:00Z" });
  assert.deepEqual(told(undefined, "2026-11-29T12:04:00Z"), { lastSession: "2026-11-29T12:00:00Z" });
});

test("a session in the future, and a text that is no time, are unknown", () => {
  const texts = ["3000-01-01T00:00:00Z", "2026-11-29T12:06:00Z", "2026", "yesterday", "2026-99-99T00:00:00Z"];
  const markup = "2026-11-20T10:00:00Z<script>alert(1)</script>";
  for (const time of [...texts, markup, "\u001b[31m", "1".repeat(100_000), 1_700_000_000, null, {}])
    assert.deepEqual(told(undefined, time), {}, JSON.stringify(time).slice(0, 80));
});

test("a database was not idle before it existed", () => {
  assert.deepEqual(told(undefined, "1970-01-01T00:00:00Z"), { lastSession: since });
});

test("whatever the attributes are, they are a size and a time that can be, or unknown", () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withDate: true }), fc.anything(), (one, other) => {
      const { bytes = 0, lastSession = since } = told(one, other);
      assert.ok(Number.isSafeInteger(bytes) && bytes >= 0 && bytes <= mostInstanceBytes);
      assert.ok(Date.parse(lastSession) <= now && Date.parse(lastSession) >= Date.parse(since));
      assert.deepEqual(toldBy(one, { now, since }), {});
    }),
  );
});

const known: Measurement = {
  at: "2026-11-29T12:00:00Z",
  bytes: 1_600,
  lastSession: "2026-11-29T11:00:00Z",
};
const later = (ms: number, facts: object, instanceId = "i") =>
  nextMeasurement(known, facts, { now: now + ms, instanceId });

test("a measurement is kept for an hour, whatever the broker tells", () => {
  assert.equal(later(hourMs - 1, { bytes: 9_999 }), known);
  assert.equal(later(hourMs - 1, {}), known);
});

test("news are taken within two hours, and what hardly differs within two days", () => {
  const news = [{ bytes: 1_700 }, { lastSession: "2026-11-30T11:00:00Z" }, { bytes: undefined }];
  for (const one of news) {
    const facts = { bytes: known.bytes, lastSession: known.lastSession, ...one };
    assert.deepEqual(later(2 * hourMs, facts), { at: "2026-11-29T14:00:00Z", ...facts });
  }
  const same = { bytes: 1_699, lastSession: "2026-11-30T10:59:00Z" };
  assert.equal(later(dayMs - 1, same), known);
  assert.deepEqual(later(2 * dayMs, same), { at: "2026-12-01T12:00:00Z", ...same });
});

test("a broker that tells nothing any more leaves nothing behind", () => {
  assert.equal(later(2 * hourMs, {}), undefined);
});

test("a clock that was set back keeps no measurement of the future", () => {
  const facts = { bytes: 1_600 };
  assert.deepEqual(later(-dayMs, facts), { at: "2026-11-28T12:00:00Z", ...facts });
});

test("measurements of many instances that began together spread over an hour", () => {
  const taken = (ms: number): number =>
    Array.from({ length: 1_000 }, (_, index) => later(ms, { bytes: 1 }, `instance-${index}`)).filter(
      (one) => one !== known,
    ).length;
  const quarters = [1, 1.25, 1.5, 1.75, 2].map((hours) => taken(hours * hourMs));
  assert.ok((quarters[0] ?? 1) < 5 && quarters[4] === 1_000, String(quarters));
  for (const [index, count] of quarters.slice(1).entries())
    assert.ok(Math.abs(count - (quarters[index] ?? 0) - 250) < 60, String(quarters));
});

function instance(measured: unknown, annotations: Readonly<Record<string, string>> = {}): ServiceInstance {
  const open = { service: "pg", plan: "small", config: "c", from: since };
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    metadata: {
      annotations: { [usageAnnotation]: JSON.stringify({ closed: [], open }), ...annotations },
    },
    spec: { forProvider: {} },
    status: { atProvider: { measured } },
  } as unknown as ServiceInstance;
}

const plan = { service: "pg", plan: "small", config: "c" };

test("a recent measurement tells of the plan that the instance has", () => {
  assert.deepEqual(measuredOf(instance(known), now + dayMs), { ...known, plan });
});

test("nothing is known by an old measurement, one of the future, or of an instance that its broker lacks", () => {
  assert.equal(measuredOf(instance(known), now + 3 * dayMs + 1_000), undefined);
  assert.equal(measuredOf(instance(known), now - hourMs), undefined);
  const missing = { [missingAnnotation]: JSON.stringify({ since: now, confirmed: true }) };
  assert.equal(measuredOf(instance(known, missing), now), undefined);
});

test("a status that somebody wrote by hand is read as carefully as a broker's answer", () => {
  for (const measured of [undefined, null, "x", [], { at: 7 }, { at: "<b>" }, { at: "3000-01-01T00:00:00Z" }])
    assert.equal(measuredOf(instance(measured), now), undefined, JSON.stringify(measured));
  const forged = { at: known.at, bytes: 1e300, lastSession: "3000-01-01T00:00:00Z" };
  assert.equal(measuredOf(instance(forged), now), undefined);
  assert.deepEqual(measuredOf(instance({ ...forged, bytes: 5 }), now), {
    at: known.at,
    bytes: 5,
    lastSession: undefined,
    plan,
  });
});

test("a database is idle by the days that its broker saw, not by those in which no one asked it", () => {
  const at = "2026-11-29T12:00:00Z";
  assert.equal(idleDaysOf({ at, lastSession: "2026-10-30T12:00:00Z" }), 30);
  assert.equal(idleDaysOf({ at, lastSession: "2026-10-30T12:00:01Z" }), undefined);
  assert.equal(idleDaysOf({ at, lastSession: "2026-11-20T12:00:00Z" }, 9), 9);
  assert.equal(idleDaysOf({ at, bytes: 0 }), undefined);
  assert.equal(idleDaysOf(undefined), undefined);
});
