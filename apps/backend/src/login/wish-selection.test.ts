import assert from "node:assert/strict";
import { test } from "node:test";
import { mariadb, postgresql, serviceOffer, widgets } from "../testing/service-offers.ts";
import { selectionOf } from "./wish-selection.ts";

const offers = [...postgresql, mariadb, widgets];
const all = offers.map(({ resource, group }) => `${resource}.${group}`);
const unavailable = [
  {
    group: "example.org",
    resource: "caches",
    reason: "the CRD is missing",
    template: { namespace: "a", name: "b" },
  },
];

const chosen = (wish: Parameters<typeof selectionOf>[0]): readonly string[] => {
  const { chosen: names, notes } = selectionOf(wish, offers, unavailable);
  assert.deepEqual(notes, []);
  return [...names].toSorted();
};

test("a wish selects APIs by name, by resource, by service, or all of them", () => {
  assert.deepEqual(chosen({ kind: "none" }), []);
  assert.deepEqual(chosen({ kind: "all" }), all.toSorted());
  const names = ["backups", "widgets.example.org"];
  assert.deepEqual(chosen({ kind: "apis", names }), ["backups.anynines.com", "widgets.example.org"]);
  const four = postgresql.map(({ resource, group }) => `${resource}.${group}`).toSorted();
  assert.deepEqual(chosen({ kind: "service", service: "postgresql" }), four);
  assert.deepEqual(chosen({ kind: "service", service: "postgresql.anynines.com" }), four);
});

for (const [name, note] of [
  [
    "postgresqlinstance",
    /^postgresqlinstance is not among the APIs that you may bind\. Nearest: postgresqlinstances\.anynines\.com\.$/,
  ],
  ["backups.example.org", /Nearest: backups\.anynines\.com\.$/],
  ["servicebidnings.anynines.com", /Nearest: servicebindings\.anynines\.com\.$/],
  ["postgresql", /Nearest: postgresqlinstances\.anynines\.com\.$/],
  ["zzz", /that you may bind\.$/],
  ["caches", /^caches\.example\.org is not available now: the CRD is missing\.$/],
] as const) {
  test(`an API that is not offered selects nothing and gets a note: ${name}`, () => {
    const selection = selectionOf({ kind: "apis", names: [name, "widgets"] }, offers, unavailable);
    assert.deepEqual([...selection.chosen], ["widgets.example.org"]);
    assert.equal(selection.notes.length, 1);
    assert.match(selection.notes[0] ?? "", note);
  });
}

test("an unknown service gets the nearest names, or all of them", () => {
  const noteOf = (service: string): string => selectionOf({ kind: "service", service }, offers).notes.join();
  assert.match(
    noteOf("postgres"),
    /Service postgres is not among those that you may bind\. Nearest: postgresql\.$/,
  );
  assert.match(noteOf("PostgreSQL"), /Nearest: postgresql\.$/);
  assert.match(noteOf("kafka"), /Nearest: mariadb, postgresql\.$/);
  assert.match(selectionOf({ kind: "service", service: "x" }, [widgets]).notes.join(), /may bind\.$/);
});

test("a name or a service in several API groups is ambiguous, and no one is chosen for the person", () => {
  const second = postgresql.map((offer) => ({ ...offer, group: "m.anynines.com" }));
  const both = [...postgresql, ...second];
  const byName = selectionOf({ kind: "apis", names: ["backups"] }, both);
  assert.deepEqual(
    [byName.chosen.size, byName.notes],
    [
      0,
      [
        "backups is offered in several API groups: backups.anynines.com, backups.m.anynines.com. Select one below.",
      ],
    ],
  );
  const byService = selectionOf({ kind: "service", service: "postgresql" }, both);
  assert.equal(byService.chosen.size, 0);
  assert.match(
    byService.notes.join(),
    /postgresql\.anynines\.com, postgresql\.m\.anynines\.com\. Select one below\.$/,
  );
  assert.equal(selectionOf({ kind: "service", service: "postgresql.m.anynines.com" }, both).chosen.size, 4);
});

test("more than 50 APIs are not selected at once", () => {
  const many = Array.from({ length: 51 }, (_, at) => serviceOffer(`Kind${at}`));
  assert.equal(selectionOf({ kind: "all" }, many.slice(1)).chosen.size, 50);
  const { chosen: none, notes } = selectionOf({ kind: "all" }, many);
  assert.deepEqual(
    [none.size, notes],
    [0, ["51 APIs are offered, and one login binds at most 50. Select them below."]],
  );
});
