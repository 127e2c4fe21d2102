import assert from "node:assert/strict";
import { test } from "node:test";
import type { DynamicObject } from "@klutch/kube-core";
import { goodBackup, lastBackups } from "./console-backups.ts";

const type = { group: "anynines.com", kind: "Backup" };

function backup(end: unknown, spec: object = {}, ready = "True"): DynamicObject {
  return {
    apiVersion: "anynines.com/v1",
    kind: "Backup",
    metadata: { namespace: "above", name: "b" },
    spec: { instanceRef: "orders", serviceInstanceType: "postgresql", ...spec },
    status: {
      managed: { finished_at: end },
      conditions: [{ type: "Ready", status: ready, reason: "Available" }],
    },
  };
}

function last(objects: readonly DynamicObject[], of = type): readonly (readonly [string, string])[] {
  return [...lastBackups(objects.map((one) => ({ type: of, namespace: "above", backup: goodBackup(one) })))];
}

test("the last good backup of an instance counts, whatever the order", () => {
  const id = "postgresqlinstances.anynines.com/above/orders";
  const [early, late] = ["2026-11-27T10:00:00.000Z", "2026-11-28T10:00:00Z"];
  assert.deepEqual(last([backup(late), backup(early)]), [[id, late]]);
  assert.deepEqual(last([backup(early), backup(late)]), [[id, late]]);
});

test("a backup that runs or failed, has no readable end, or names no instance counts for nothing", () => {
  const at = "2026-11-28T10:00:00Z";
  const bad = [
    backup(at, {}, "False"),
    backup("<b>now</b>"),
    backup(7),
    backup(at, { instanceRef: "" }),
    backup(at, { instanceRef: "x".repeat(1_000_000) }),
    backup(at, { serviceInstanceType: "../postgresql" }),
    backup(at, { serviceInstanceType: undefined }),
  ];
  assert.deepEqual(last(bad), []);
  assert.deepEqual(last([backup(at)], { ...type, kind: "ServiceBinding" }), []);
});
