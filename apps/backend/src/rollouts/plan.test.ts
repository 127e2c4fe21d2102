/** Waves over 20 app clusters in virtual time: a bad version ends at the wave that meets it, and a process may end between any two writes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KonnectorRolloutSpec } from "@klutch/api";
import fc from "fast-check";
import { recordOf } from "./record.ts";
import { type Behaviour, Fleet, startedAt } from "./testing/fleet.ts";

const spec: KonnectorRolloutSpec = {
  version: "v1.6.1",
  waves: [{ size: 1, pauseSeconds: 600 }, { size: 4, pauseSeconds: 600 }, { pauseSeconds: 600 }],
  deadlineSeconds: 1800,
};
const well = (count: number): Behaviour[] => Array.from({ length: count }, () => ({}));
const with20 = (index: number, behaviour: Behaviour): Fleet => {
  const behaviours = well(20);
  behaviours[index] = behaviour;
  return new Fleet(spec, behaviours);
};
const names = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, index) => `c${String(from + index).padStart(2, "0")}`);

test("a good version reaches all, a wave after the other and each after its pause", () => {
  const fleet = new Fleet(spec, well(20));
  fleet.run(5);
  assert.deepEqual(fleet.on("v1.6.1"), ["c00"]);
  fleet.run(7);
  assert.deepEqual(fleet.on("v1.6.1"), names(0, 5));
  fleet.run(12);
  assert.equal(fleet.on("v1.6.1").length, 20);
  fleet.run(12);
  assert.equal(fleet.status.phase, "Completed");
  assert.deepEqual([fleet.status.updated, fleet.status.leftCount, fleet.told.length], [20, 0, 20]);
  assert.equal(fleet.plan().condition.status, "True");
});

test("a roll-out that selects no app cluster is not over: it says so, and begins when one comes", () => {
  const fleet = new Fleet({ ...spec, tenantLabels: { channel: "none" } }, []);
  fleet.run(5);
  const { condition, writes, status } = fleet.plan();
  assert.deepEqual(
    [condition.status, condition.reason, status.phase],
    ["False", "NoAppCluster", "Progressing"],
  );
  assert.match(condition.message ?? "", /^selects no app cluster: no Tenant/);
  assert.deepEqual(writes, []);
});

for (const [fault, words] of [
  ["problem", /c03 has more problems than before \(SecretValid: broken by v1\.6\.1\)/],
  ["silence", /c03 has no heartbeat/],
  ["stuck", /c03 still runs v1\.6\.0 after 1800 s/],
] as const)
  test(`a version with the fault ${fault} ends at wave 2, which goes back; wave 1 and the rest stay`, () => {
    const fleet = with20(3, { broken: { "v1.6.1": fault } });
    fleet.run(120);
    assert.equal(fleet.status.phase, "Stopped");
    assert.equal(fleet.status.stop?.wave, 2);
    assert.match(fleet.status.stop?.message ?? "", words);
    assert.deepEqual(fleet.on("v1.6.1"), ["c00"]);
    assert.equal(fleet.on("v1.6.0").length, 19);
    const { length } = fleet.told;
    fleet.run(60);
    assert.equal(fleet.told.length, length, "nothing more is written");
    fleet.spec = { ...spec, version: "v1.6.2" };
    fleet.run(120);
    assert.equal(fleet.on("v1.6.2").length, 20, "a version that mends it reaches all");
    assert.equal(fleet.status.stop, undefined);
  });

test("a process may end after any number of writes: no app cluster outside of the failed wave keeps the bad version, and no wave is larger", () => {
  const cut = fc.constantFrom(0, 1, 2, 3, Number.POSITIVE_INFINITY);
  fc.assert(
    fc.property(fc.array(cut, { maxLength: 30 }), fc.integer({ min: 0, max: 19 }), (cuts, bad) => {
      const fleet = with20(bad, { broken: { "v1.6.1": "problem" } });
      fleet.spec = { ...spec, waves: spec.waves.map((wave) => ({ ...wave, pauseSeconds: 60 })) };
      let turn = 0;
      let most = 0;
      fleet.run(30, () => {
        fleet.reconcile(cuts[turn++] ?? Number.POSITIVE_INFINITY);
        const waves = [...fleet.members.values()].map(
          ({ annotations }) => recordOf({ metadata: { annotations } })?.wave,
        );
        most = Math.max(most, waves.filter((wave) => wave === 2).length);
      });
      assert.ok(most <= 4);
      assert.equal(fleet.status.phase, "Stopped");
      assert.ok(!fleet.on("v1.6.1").includes(`c${String(bad).padStart(2, "0")}`));
      const failed = fleet.status.stop?.wave ?? 0;
      for (const [name, { annotations, version }] of fleet.members) {
        const record = recordOf({ metadata: { annotations } });
        const isNew = record !== undefined && record.wave < failed;
        assert.equal(version, isNew ? "v1.6.1" : "v1.6.0", name);
      }
    }),
    { numRuns: 40 },
  );
});

test("a clock that goes back makes a pause longer and stops nothing", () => {
  const fleet = new Fleet(spec, well(20));
  fleet.run(5);
  fleet.now -= 3_600_000;
  fleet.run(9);
  assert.deepEqual(fleet.on("v1.6.1"), ["c00"]);
  fleet.run(60);
  assert.equal(fleet.on("v1.6.1").length, 20);
  assert.equal(fleet.status.stop, undefined);
});

test("while it is paused no wave begins, and the present one is judged", () => {
  const fleet = with20(0, { broken: { "v1.6.1": "problem" } });
  fleet.spec = { ...spec, paused: true };
  fleet.run(60);
  assert.deepEqual([fleet.status.phase, fleet.told.length], ["Paused", 0]);
  fleet.spec = spec;
  fleet.reconcile();
  fleet.spec = { ...spec, paused: true };
  fleet.run(5);
  assert.equal(fleet.status.phase, "Stopped");
});

test("app clusters that do not follow, are too old, do not allow it, are away or flap are named and hold up no one", () => {
  const time = new Date(startedAt).toISOString();
  const away = { type: "Healthy", status: "False", severity: "Error", lastTransitionTime: time };
  const fleet = new Fleet(spec, [
    ...well(15),
    { follows: false },
    { follows: false, says: { konnectorVersion: "v1.5.0" } },
    { says: { konnectorUpdates: { line: "patch", floor: "v1.5.0" } } },
    { says: { conditions: [away] } },
    { says: { konnectorUpdates: "yes", konnectorVersion: `v9${"x".repeat(10_000_000)}` } },
  ]);
  fleet.run(120);
  assert.equal(fleet.status.phase, "Completed");
  assert.deepEqual(fleet.on("v1.6.1"), names(0, 15));
  const left = fleet.status.left ?? [];
  assert.deepEqual(
    left.map(({ namespace }) => namespace),
    names(15, 20),
  );
  assert.match(left[2]?.reason ?? "", /does not allow it: v1\.6\.1 is not of v1\.5\./);
  assert.match(left[3]?.reason ?? "", /no heartbeat/);
  assert.match(left[4]?.reason ?? "", /no version of a release/);
  assert.ok(JSON.stringify(fleet.status).length < 4_000);
});

test("an app cluster that came back a moment ago waits until its heartbeat is steady", () => {
  const fleet = new Fleet(spec, well(1));
  const [member] = fleet.members.values();
  assert.ok(member);
  fleet.run(60, () => {
    member.healthySince = fleet.now - 60_000;
    fleet.reconcile();
  });
  assert.deepEqual([fleet.told, fleet.status.phase], [[], "Completed"]);
  assert.match(fleet.status.left?.[0]?.reason ?? "", /less than 5 minutes ago/);
  fleet.run(30);
  assert.deepEqual(fleet.on("v1.6.1"), ["c00"]);
});

test("one that claims to run the version gets no other treatment by it, and a thousand that do not are counted and not listed", () => {
  const liar = with20(0, { says: { konnectorVersion: "v1.6.1" } });
  liar.run(120);
  assert.equal(liar.on("v1.6.1").length, 19);
  const many = new Fleet(
    spec,
    Array.from({ length: 1_000 }, () => ({ follows: false })),
  );
  many.run(1);
  assert.deepEqual([many.status.left?.length, many.status.leftCount, many.told.length], [20, 1_000, 0]);
});

test("a record that a person broke is no record", () => {
  const read = (text: string): unknown =>
    recordOf({ metadata: { annotations: { "klutch.anynines.com/konnector-rollout": text } } });
  const good = { rollout: "u", version: "v1.6.1", wave: 1, before: "v1.6.0", at: 1, problems: 0 };
  assert.deepEqual(read(JSON.stringify(good)), good);
  for (const change of [
    { version: "latest" },
    { wave: 0 },
    { wave: "1" },
    { at: -1 },
    { problems: null },
    { rollout: 1 },
  ])
    assert.equal(read(JSON.stringify({ ...good, ...change })), undefined);
  for (const text of ["", "{", "[]", "null", '"x"']) assert.equal(read(text), undefined);
});

test("a wave whose pause is over is judged no more, and problems from before do not count", () => {
  const lastTransitionTime = new Date(startedAt - 86_400_000).toISOString();
  const old = [
    { type: "Healthy", status: "True", lastTransitionTime },
    { type: "SecretValid", status: "False", severity: "Error", lastTransitionTime },
  ];
  const fleet = with20(1, { says: { conditions: old, konnectorVersion: "v1.6.1" } });
  const said = { conditions: old };
  fleet.members.set("c02", {
    behaviour: { says: said },
    annotations: {},
    version: "v1.6.0",
    healthySince: 0,
  });
  fleet.run(12);
  const [first] = fleet.members.values();
  assert.ok(first && fleet.status.wave === 2);
  fleet.members.set("c00", { ...first, behaviour: { broken: { "v1.6.1": "silence" } } });
  fleet.run(60);
  assert.equal(fleet.status.stop, undefined);
  assert.equal(fleet.status.phase, "Completed");
});

test("a backend that ends between a wave and its status gives that wave its whole pause", () => {
  const fleet = new Fleet(spec, well(20));
  fleet.run(10.5);
  assert.deepEqual([fleet.status.wave, fleet.on("v1.6.1").length], [1, 1]);
  fleet.run(0.5, () => fleet.reconcile(4));
  assert.equal(fleet.status.wave, 1, "the status of wave 2 is lost");
  fleet.run(20, () => undefined);
  fleet.run(9);
  assert.equal(fleet.on("v1.6.1").length, 5);
  fleet.run(3);
  assert.equal(fleet.on("v1.6.1").length, 20);
});
