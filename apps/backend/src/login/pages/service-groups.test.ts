import assert from "node:assert/strict";
import { test } from "node:test";
import { mariadb, postgresql, serviceOffer, widgets } from "../../testing/service-offers.ts";
import type { OfferedApi } from "../../offered-api.ts";
import { sectionsOf, servicesOf } from "./service-groups.ts";

const shownOf = (offers: readonly OfferedApi[]): readonly (readonly [string, string])[] =>
  sectionsOf(offers).map(({ title, offers: list }) => [title, list.map(({ kind }) => kind).join(" ")]);

test("the only service has the shared kinds in its own section", () => {
  assert.deepEqual(shownOf([widgets, ...postgresql]), [
    ["PostgreSQL", "PostgresqlInstance Backup Restore ServiceBinding"],
    ["Other APIs", "Widget"],
  ]);
});

test("kinds that several services share come once, after them, and belong to each of them", () => {
  const offers = [...postgresql, mariadb];
  assert.deepEqual(shownOf(offers), [
    ["MariaDB", "MariadbInstance"],
    ["PostgreSQL", "PostgresqlInstance"],
    ["For MariaDB and PostgreSQL", "Backup Restore ServiceBinding"],
  ]);
  assert.deepEqual(
    servicesOf(offers).map(({ id, apis }) => [id, apis.length]),
    [
      ["mariadb.anynines.com", 4],
      ["postgresql.anynines.com", 4],
    ],
  );
});

test("a shared kind belongs only to services whose type it takes, and to none of another API group", () => {
  const some = serviceOffer("Restore", { kind: "shared", types: ["postgresql", "redis"] });
  const elsewhere = serviceOffer("Backup", { kind: "shared", types: undefined }, { group: "m.anynines.com" });
  assert.deepEqual(shownOf([mariadb, some, elsewhere, ...postgresql.slice(1, 2)]), [
    ["MariaDB", "MariadbInstance"],
    ["PostgreSQL", "PostgresqlInstance Restore"],
    ["Other APIs", "Backup"],
  ]);
});

test("kinds that need backups belong to no service without them, and are not part of the whole of it", () => {
  const metrics = { kind: "own", type: "metrics", title: "Metrics", isWithoutBackups: true } as const;
  const needing = postgresql.map((offer) =>
    ["Backup", "Restore"].includes(offer.kind)
      ? serviceOffer(offer.kind, { kind: "shared", types: undefined, needsBackups: true })
      : offer,
  );
  assert.deepEqual(shownOf([serviceOffer("MetricsInstance", metrics), ...needing]), [
    ["Metrics", "MetricsInstance"],
    ["PostgreSQL", "PostgresqlInstance Backup Restore"],
    ["For Metrics and PostgreSQL", "ServiceBinding"],
  ]);
});

test("one service in two API groups is two services with different names", () => {
  const second = postgresql.map((offer) => ({ ...offer, group: "m.anynines.com" }));
  assert.deepEqual(
    servicesOf([...postgresql, ...second]).map(({ id, title }) => [id, title]),
    [
      ["postgresql.anynines.com", "PostgreSQL (anynines.com)"],
      ["postgresql.m.anynines.com", "PostgreSQL (m.anynines.com)"],
    ],
  );
});

test("several kinds with the label of one service are one service; many services are not listed in a title", () => {
  const user = serviceOffer("RedisUser", { kind: "own", type: "redis", title: "Redis" });
  const redis = serviceOffer("RedisInstance", { kind: "own", type: "redis", title: "Redis" });
  assert.deepEqual(shownOf([user, redis]), [["Redis", "RedisInstance RedisUser"]]);
  const many = ["A", "B", "C", "D", "E"].map((type) =>
    serviceOffer(`${type}Instance`, { kind: "own", type, title: type }),
  );
  assert.deepEqual(shownOf([...many, ...postgresql.slice(0, 1)]).at(-1), [
    "For the services of anynines.com",
    "Backup",
  ]);
});

test("no offer is lost or shown twice, and without services there is one list", () => {
  const offers = [...postgresql, mariadb, widgets];
  const shown = sectionsOf(offers).flatMap((section) => section.offers);
  assert.equal(shown.length, offers.length);
  assert.deepEqual(new Set(shown), new Set(offers));
  assert.deepEqual(shownOf([widgets]), [["Offered APIs", "Widget"]]);
  assert.deepEqual(sectionsOf([]), []);
});
