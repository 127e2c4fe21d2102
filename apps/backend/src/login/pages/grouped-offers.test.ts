import assert from "node:assert/strict";
import { test } from "node:test";
import type { OfferedApi } from "../../offered-api.ts";
import { groupOffers } from "./grouped-offers.ts";

function offer(kind: string, fields: readonly string[] = [], group = "example.org"): OfferedApi {
  const resource = `${kind.toLowerCase()}s`;
  return {
    resource,
    group,
    kind,
    scope: "Namespaced",
    description: "",
    fields: fields.map((name) => ({ name, about: "" })),
    permissionClaims: [],
    template: { namespace: "default", name: "databases" },
  };
}

const shownOf = (offers: readonly OfferedApi[]): readonly (readonly [string, readonly string[]])[] =>
  groupOffers(offers).map((group) => [group.title, group.offers.map((one) => one.offer.kind)]);

const backup = offer("Backup", ["instanceRef"]);
const restore = offer("Restore", ["backupRef"]);
const sql = offer("SqlInstance", ["plan"]);
const cache = offer("CacheInstance", ["plan"]);

test("services come first, then the kinds that work on them, then all others", () => {
  assert.deepEqual(shownOf([backup, restore, offer("Widget"), sql, cache]), [
    ["Services", ["CacheInstance", "SqlInstance"]],
    ["Credentials, backups and other operations on services", ["Backup", "Restore"]],
    ["Other APIs", ["Widget"]],
  ]);
});

test("each card says what it needs and what works on it", () => {
  const cards = new Map(
    groupOffers([backup, restore, sql, cache])
      .flatMap(({ offers }) => offers)
      .map(({ offer: { kind }, needs, usedBy }) => [kind, { needs, usedBy }]),
  );
  assert.deepEqual(cards.get("Backup"), { needs: [["CacheInstance", "SqlInstance"]], usedBy: ["Restore"] });
  assert.deepEqual(cards.get("Restore"), { needs: [["Backup"]], usedBy: [] });
  assert.deepEqual(cards.get("SqlInstance"), { needs: [], usedBy: ["Backup"] });
});

test("without a service there is one list, and no offer is lost", () => {
  assert.deepEqual(shownOf([offer("Widget"), restore, offer("Gadget")]), [
    ["Offered APIs", ["Gadget", "Restore", "Widget"]],
  ]);
  assert.deepEqual(shownOf([]), []);
});

test("a field of a stranger's kind that names a kind of another group, or itself, makes no hint", () => {
  const other = offer("SqlInstance", [], "other.example");
  const loop = offer("Loop", ["loopRef", "Ref", "(((Ref", "instanceRef"]);
  const [group] = groupOffers([other, loop]);
  assert.deepEqual(
    group?.offers.map(({ offer: { kind }, needs }) => [kind, needs]),
    [
      ["Loop", []],
      ["SqlInstance", []],
    ],
  );
});
