/** Rows of konnector versions, from ClusterBindings that app clusters wrote and roll-outs that operators wrote. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type ClusterBinding,
  type KonnectorRollout,
  type KonnectorRolloutStatus,
  rolloutRecordAnnotation,
  type Tenant,
  wantedKonnectorLabel,
} from "@klutch/api";
import { type KonnectorRow, rolloutProblem } from "@klutch/overview";
import { readKonnectors } from "./konnector-rows.ts";

const at = "2026-11-01T00:00:00Z";
const now = Date.parse("2026-11-02T00:00:00Z");
const apiVersion = "klutch.anynines.com/v1alpha1";
const message = "wave 2 with v1.6.1 was stopped: c03 has no heartbeat. It goes back to the version before";
const stop: KonnectorRolloutStatus = { phase: "Stopped", stop: { version: "v1.6.1", wave: 2, message } };

function rollout(status: KonnectorRolloutStatus = { phase: "Progressing" }): KonnectorRollout {
  return {
    apiVersion,
    kind: "KonnectorRollout",
    metadata: { name: "stable", uid: "uid-1", creationTimestamp: at },
    spec: {
      version: "v1.6.1",
      waves: [{ size: 1, pauseSeconds: 60 }],
      deadlineSeconds: 600,
      tenantLabels: { "example.org/channel": "stable" },
    },
    status,
  };
}

/** `told`: wave of the record. */
function binding(status: object, told?: number, isBack?: boolean): ClusterBinding {
  const record = {
    rollout: "uid-1",
    version: "v1.6.1",
    wave: told,
    at: 0,
    problems: 0,
    before: "v1.6.0",
    isBack,
  };
  const wanted = isBack === true ? "v1.6.0" : "v1.6.1";
  const annotations =
    told === undefined
      ? {}
      : { [rolloutRecordAnnotation]: JSON.stringify(record), [wantedKonnectorLabel]: wanted };
  const conditions = [{ type: "Healthy", status: "True", lastTransitionTime: at }];
  return {
    apiVersion,
    kind: "ClusterBinding",
    metadata: { namespace: "c00", name: "cluster", annotations },
    status: { konnectorVersion: "v1.6.0", conditions, ...status },
  } as unknown as ClusterBinding;
}

const tenant = (channel: string): Tenant => ({
  apiVersion,
  kind: "Tenant",
  metadata: { namespace: "c00", name: "tenant", labels: { "example.org/channel": channel } },
  spec: {},
});

function rowsOf(
  bindings: readonly ClusterBinding[],
  rollouts: readonly KonnectorRollout[],
  channel: string,
): readonly KonnectorRow[] {
  const tenants = new Map([["c00", tenant(channel)]]);
  return [...readKonnectors(bindings, rollouts, tenants, now)].flatMap(({ make }) => make());
}

function rowOf(one: ClusterBinding, rollouts = [rollout()], channel = "stable"): KonnectorRow | undefined {
  return rowsOf([one], rollouts, channel)[0];
}

const updates = { konnectorUpdates: { line: "patch", floor: "v1.6.0" } };

test("a row says which version runs, which is wanted, by which roll-out, channel and wave, and why it does not run yet", () => {
  const row = rowOf(binding(updates, 2));
  const { version, wanted, follows, rollout: name, channel, wave, phase, health } = row ?? {};
  assert.deepEqual(
    { version, wanted, follows, name, channel, wave, phase, health },
    {
      version: "v1.6.0",
      wanted: "v1.6.1",
      follows: "patch from v1.6.0",
      name: "stable",
      channel: "example.org/channel=stable",
      wave: 2,
      phase: "Progressing",
      health: "pending",
    },
  );
  assert.equal(row?.says, "told in wave 2, and not there yet");
  const there = rowOf(binding({ ...updates, konnectorVersion: "v1.6.1" }, 2));
  assert.deepEqual([there?.health, there?.says, there?.next], ["well", "", ""]);
});

test("a konnector that no roll-out selects is well, and one that does not follow is told how", () => {
  const free = rowOf(binding(updates), [rollout()], "early");
  assert.deepEqual([free?.rollout, free?.channel, free?.health], ["", "", "well"]);
  const old = rowOf(binding({}));
  assert.match(old?.says ?? "", /does not follow updates, or its konnector is too old/);
  assert.equal(old?.next, "in the app cluster: kubectl bind --follow-updates patch");
});

test("a roll-out that selects no app cluster has a row of its own, which says so", () => {
  const [cluster, idle, ...more] = rowsOf([binding(updates)], [rollout()], "early");
  assert.equal(cluster?.rollout, "");
  assert.deepEqual(more, []);
  const { id, tenant: owner, rollout: name, wanted, health, channel } = idle ?? {};
  assert.deepEqual(
    { id, owner, name, wanted, health, channel },
    {
      id: "rollouts/stable",
      owner: "",
      name: "stable",
      wanted: "v1.6.1",
      health: "pending",
      channel: "example.org/channel=stable",
    },
  );
  assert.match(idle?.says ?? "", /^selects no app cluster: no Tenant of an app cluster has the labels/);
  assert.equal(rowsOf([binding(updates)], [rollout()], "stable").length, 1);
  const everywhere = { ...rollout(), spec: { ...rollout().spec, tenantLabels: {} } };
  assert.match(rowsOf([], [everywhere], "stable")[0]?.says ?? "", /: none is bound, or older roll-outs/);
});

test("a roll-out whose app clusters an older one selects has a row of its own, too", () => {
  const younger = { ...rollout(), metadata: { name: "late", creationTimestamp: "2026-11-01T01:00:00Z" } };
  const rows = rowsOf([binding(updates)], [younger, rollout()], "stable");
  assert.deepEqual(
    rows.map(({ id, rollout: name }) => [id, name]),
    [
      ["c00", "stable"],
      ["rollouts/late", "late"],
    ],
  );
});

test("a stopped roll-out names its reason on each row, and only the wave that went back is a problem", () => {
  const back = rowOf(binding(updates, 2, true), [rollout(stop)]);
  assert.deepEqual([back?.health, back?.stopped, back?.wanted], ["problem", message, "v1.6.0"]);
  assert.equal(back?.next, "kubectl edit konnectorrollouts stable");
  const waits = rowOf(binding(updates), [rollout(stop)]);
  assert.deepEqual([waits?.health, waits?.says, waits?.stopped], ["pending", "waits for its wave", message]);
});

test("a roll-out is a problem while it is stopped at the version that it wants, and no longer", () => {
  const problem = rolloutProblem(rollout(stop));
  assert.deepEqual([problem?.says, problem?.next], [message, "kubectl edit konnectorrollouts stable"]);
  assert.deepEqual(problem?.about, { collection: "konnectors", id: "stable" });
  const rows = rowsOf([binding(updates, 2, true)], [rollout(stop)], "stable");
  const led = rows.filter(({ rollout: name }) => name === problem?.about.id);
  assert.deepEqual(
    led.map(({ id }) => id),
    ["c00"],
    "the name of the roll-out finds its rows",
  );
  assert.equal(rolloutProblem(rollout()), undefined);
  const mended = rollout(stop);
  assert.equal(rolloutProblem({ ...mended, spec: { ...mended.spec, version: "v1.6.2" } }), undefined);
});

test("a version of 1 MB, markup and a forged record of an app cluster stay one short line, and place it nowhere", () => {
  const konnectorVersion = `v9.9.9<script>\n\u202e\u0000${"x".repeat(1_000_000)}`;
  const row = rowOf(
    binding({
      konnectorVersion,
      konnectorUpdates: { line: "patch", floor: "v1.6.0", problem: `<b>\n${"y".repeat(1_000_000)}` },
      wave: 1,
      rollout: "stable",
    }),
  );
  assert.ok(JSON.stringify(row).length < 1_500);
  assert.doesNotMatch(JSON.stringify(row), /\\u0000|\\n|\u202e/);
  assert.deepEqual([row?.version, row?.wave, row?.health], ["unknown", undefined, "problem"]);
  const short = rowOf(binding({ konnectorVersion: `<script>\n\u202e${"x".repeat(60)}` }));
  assert.match(short?.version ?? "", /^<script> x{30,40}…$/);
  const odd = rowOf(binding({ konnectorVersion: { v: 1 }, konnectorUpdates: 7 }));
  assert.equal(odd?.version, "unknown");
});
