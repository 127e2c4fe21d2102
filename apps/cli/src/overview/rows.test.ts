import assert from "node:assert/strict";
import { test } from "node:test";
import type { APIServiceExportTemplate, Tenant } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { VirtualClock } from "@klutch/kube-testing";
import { scriptedRun } from "../testing/script.ts";
import {
  clusterColumns,
  clusterRows,
  count,
  type Load,
  offerColumns,
  offerRows,
  namesText,
  topColumns,
  topRows,
} from "./rows.ts";
import { regionsIn } from "./offer-regions.ts";
import { ageOf, formatRows } from "./table.ts";
import { printLooks, watchEveryMs } from "./watch.ts";

const now = Date.parse("2026-11-28T10:00:00Z");
const at = (agoMs: number): string => new Date(now - agoMs).toISOString();

const binding = (
  namespace: string,
  status: object,
  annotations: Record<string, string> = {},
): DynamicObject => ({
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "ClusterBinding",
  metadata: { namespace, name: "cluster", annotations },
  status,
});
const healthy = { type: "Healthy", status: "True", lastTransitionTime: at(0) };
const silent = {
  ...healthy,
  status: "False",
  severity: "Error",
  reason: "HeartbeatTimeout",
  message: "silent for 111 s",
};
const beat = { lastHeartbeatTime: at(30_000), konnectorVersion: "v0.1.0", boundAPIs: 3 };

test("app clusters with a problem come first, and lying names neither break columns nor steer the terminal", () => {
  const nasty = `\u001b[31m${"x".repeat(5_000)}\n<b>`;
  const rows = clusterRows(
    [
      binding("a", { ...beat, conditions: [healthy] }),
      binding("c", { ...beat, conditions: [silent] }, { "klutch.anynines.com/cluster-name": nasty }),
      binding("b", { conditions: [] }),
      binding("d", {
        ...beat,
        lastHeartbeatTime: nasty,
        boundAPIs: nasty,
        konnectorVersion: nasty,
        conditions: "no list",
      }),
    ],
    [],
    now,
  );
  assert.deepEqual(
    rows.map(({ fields, isWell }) => [fields["tenant"], fields["state"], isWell]),
    [
      ["c", "problem", false],
      ["b", "pending", false],
      ["d", "pending", false],
      ["a", "well", true],
    ],
  );
  for (const format of [undefined, "wide", "json", "yaml", "name"] as const) {
    const text = formatRows(rows, clusterColumns, format);
    assert.ok(!text.includes("\u001b"), `${format}`);
    assert.ok(text.length < 4_000, `${format}: ${text.length}`);
  }
  const table = formatRows(rows, clusterColumns, undefined);
  assert.equal(table.trimEnd().split("\n").length, 5);
  assert.match(table, /\nc +\S.* 3 +v0\.1\.0 +30s +problem +Healthy HeartbeatTimeout: silent for 111 s\n/);
  assert.equal(
    formatRows(rows, clusterColumns, "name").split("\n")[0],
    "clusterbinding.klutch.anynines.com/c",
  );
});

test("a konnector that is older than its tenant's label is behind; a label that is no version is a problem", () => {
  const tenantOf = (namespace: string, version: string): Tenant =>
    ({
      metadata: { namespace, name: "tenant", labels: { "klutch.anynines.com/konnector-version": version } },
    }) as unknown as Tenant;
  const versions = { a: "v0.1.0", b: "v0.2.0", c: "\u001b[31mnone", d: "v9.0.0", e: "v0.1.0" };
  const rows = clusterRows(
    Object.entries(versions).map(([name, konnectorVersion]) => binding(name, { ...beat, konnectorVersion })),
    [tenantOf("a", "v0.2.0"), tenantOf("b", "v0.2.0"), tenantOf("c", "v0.2.0"), tenantOf("e", "latest")],
    now,
  );
  const states = rows.map(({ fields, isWell }) => [
    fields["tenant"],
    fields["state"],
    fields["wanted"],
    isWell,
  ]);
  assert.deepEqual(states, [
    ["e", "problem", "latest", false],
    ["a", "behind", "v0.2.0", true],
    ["b", "well", "v0.2.0", true],
    ["c", "behind", "v0.2.0", true],
    ["d", "well", "-", true],
  ]);
  assert.match(
    String(rows[0]?.fields["problem"]),
    /Tenant e\/tenant is "latest", must be a version such as v/,
  );
});

test("a limit of the tenant that is exceeded is a problem of its app cluster; what a backend in Go says of each is none", () => {
  const tenant = {
    metadata: { namespace: "a", name: "tenant" },
    spec: { owner: "ann@example.org" },
    status: {
      memberCount: 2,
      conditions: [{ ...silent, type: "WithinLimits", reason: "OverLimit", message: "4 of 3" }],
    },
  } as unknown as Tenant;
  const other = { ...tenant, metadata: { namespace: "b", name: "another" } };
  const drift = { ...silent, reason: "HeartbeatTimeDrift" };
  const rows = clusterRows(
    [binding("a", { ...beat, conditions: [healthy] }), binding("b", { ...beat, conditions: [drift] })],
    [tenant, other],
    now,
  );
  assert.deepEqual(
    rows.map(({ fields }) => [fields["tenant"], fields["owner"], fields["members"], fields["problem"]]),
    [
      ["a", "ann@example.org", 2, "WithinLimits OverLimit: 4 of 3"],
      ["b", "", 0, ""],
    ],
  );
});

test("a budget that is spent makes no app cluster unwell", () => {
  const spent = { ...silent, type: "WithinBudget", reason: "OverBudget", message: "5 of 4" };
  const tenant = {
    metadata: { namespace: "a", name: "tenant" },
    spec: {},
    status: { conditions: [spent] },
  } as unknown as Tenant;
  const [row] = clusterRows([binding("a", { ...beat, conditions: [healthy] })], [tenant], now);
  assert.deepEqual([row?.isWell, row?.fields["problem"]], [true, ""]);
});

test("an offer that is not valid comes first, with its reason", () => {
  const template = (resource: string, conditions: readonly object[]): APIServiceExportTemplate =>
    ({
      metadata: { namespace: "offers", name: resource },
      spec: { APIServiceSelector: { group: "example.org", resource } },
      status: { kind: "Thing", boundClusters: 2, conditions },
    }) as unknown as APIServiceExportTemplate;
  const good = [
    { ...healthy, type: "Valid" },
    { ...healthy, type: "Offered" },
  ];
  const bad = [{ ...silent, type: "Valid", reason: "CRDNotFound", message: "no such kind" }];
  const text = formatRows(
    offerRows([template("apples", good), template("pears", bad)]),
    offerColumns,
    undefined,
  );
  assert.deepEqual(
    text.split("\n").map((line) => line.split(/ {3,}/)),
    [
      ["API", "KIND", "VALID", "OFFERED", "CLUSTERS", "PROBLEM"],
      ["pears.example.org", "Thing", "False", "Unknown", "2", "Valid CRDNotFound: no such kind"],
      ["apples.example.org", "Thing", "True", "True", "2"],
      [""],
    ],
  );
});

test("an offer says whether its service has backups, and one of no service does not", () => {
  const of = (metadata: object): unknown => {
    const spec = { APIServiceSelector: { group: "example.org", resource: "things" } };
    const [row] = offerRows([
      { metadata: { name: "things", ...metadata }, spec } as APIServiceExportTemplate,
    ]);
    return row?.fields["backups"];
  };
  const labels = { "klutch.anynines.com/service-type": "things" };
  assert.equal(of({}), "-");
  assert.equal(of({ labels }), "yes");
  assert.equal(of({ labels, annotations: { "klutch.anynines.com/service-backups": "none" } }), "none");
});

test("top counts claims, those that are not ready and those with errors, and sorts by the asked column", () => {
  const claim = (namespace: string, ...conditions: readonly object[]): DynamicObject => ({
    apiVersion: "v1",
    kind: "X",
    metadata: { namespace, name: "x" },
    status: { conditions },
  });
  const load = (): Load => ({ claims: 0, notReady: 0, errors: 0, namespaces: new Set(), regions: new Set() });
  const loads = new Map([
    ["a", load()],
    ["b", load()],
  ] as const);
  const [a, b] = [...loads.values()];
  assert.ok(a && b);
  for (let index = 0; index < 3; index++) count(a, claim(`a-${index}`, { type: "Ready", status: "True" }));
  count(
    b,
    claim(
      "b-1",
      { type: "Ready", status: "False" },
      { type: "Synced", status: "True" },
      { type: "klutch.anynines.com/Composed", status: "False" },
    ),
  );
  count(b, claim("b-1"));
  const bindings = [
    binding("a", beat),
    binding("b", { ...beat, lastHeartbeatTime: at(3_600_000) }),
    binding("c", {}),
  ];
  const order = (by: Parameters<typeof topRows>[2]): unknown =>
    topRows(bindings, loads, by, now).map(({ fields }) => fields["tenant"]);
  assert.deepEqual(order("claims"), ["a", "b", "c"]);
  assert.deepEqual(order("errors"), ["b", "a", "c"]);
  assert.deepEqual(order("notReady"), ["b", "a", "c"]);
  assert.deepEqual(order("lag"), ["c", "b", "a"]);
  const wide = formatRows(topRows(bindings, loads, "claims", now), topColumns, "wide");
  assert.match(wide, /\na +3 +0 +0 +3 +- +3 +30s\nb +2 +1 +1 +1 +- +3 +60m\nc +0 +0 +0 +0 +- +0 +-\n/);
});

test("a wide top names the regions of a tenant's instances, once and bounded, whatever a claim says", () => {
  const load: Load = { claims: 0, notReady: 0, errors: 0, namespaces: new Set(), regions: new Set() };
  const claim = (region: unknown): DynamicObject => ({
    apiVersion: "anynines.com/v1",
    kind: "PostgresqlInstance",
    metadata: { namespace: "space", name: "db" },
    status: { managed: { region } },
  });
  for (const region of ["eu-2", "eu-1", "eu-2", undefined, 7, `\u001b[31m\n${"x".repeat(1_000_000)}`])
    count(load, claim(region));
  const [row] = topRows([binding("a", beat)], new Map([["a", load]]), "claims", now);
  const shown = String(row?.fields["regions"]);
  assert.match(shown, /eu-1, eu-2$/);
  assert.ok(shown.length < 90, shown);
  assert.doesNotMatch(shown, /\p{Cc}/u);
  for (let index = 0; index < 1_000; index++) count(load, claim(`r-${index}`));
  assert.equal(load.regions.size, 50);
});

test("offers name the regions of their service that take new instances", () => {
  const config = (type: string, region: string, more: object = {}): DynamicObject => ({
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ProviderConfig",
    metadata: {
      name: `${type}-${region}`,
      labels: { "klutch.anynines.com/service-type": type, "klutch.anynines.com/region": region, ...more },
    },
  });
  const drained = { "klutch.anynines.com/drained": "true" };
  const regions = regionsIn([
    config("postgresql", "eu-2"),
    config("postgresql", "eu-1"),
    config("postgresql", "us-1", drained),
    config("mariadb", "eu-3"),
    config("postgresql", ""),
  ]);
  assert.equal(namesText(regions("postgresql")), "eu-1, eu-2");
  assert.equal(namesText(regions("keyvalue")), "-");
  assert.equal(namesText(regions("")), "-");
});

test("ages are kubectl's; a time that is none has no age, and one ahead counts as now", () => {
  assert.deepEqual(
    [at(119_000), at(7_199_000), at(172_799_000), at(999_999_000), at(-5_000), "x", undefined].map((time) =>
      ageOf(time, now),
    ),
    ["119s", "119m", "47h", "11d", "0s", "-", "-"],
  );
});

test("a watch prints again only what has changed, and ends with Ctrl-C", async () => {
  const clock = new VirtualClock();
  const ended = new AbortController();
  const run = scriptedRun({ signal: ended.signal });
  const texts = ["one\n", "one\n", "two\n"];
  let looks = 0;
  const done = printLooks({ ...run.context, clock }, true, async () => {
    const text = texts[Math.min(looks++, 2)] ?? "";
    return { text, isWell: text === "one\n" };
  });
  for (let index = 0; index < 4; index++) await clock.advance(watchEveryMs);
  ended.abort(new Error("Ctrl-C"));
  await clock.advance(watchEveryMs);
  assert.equal(await done, false);
  assert.equal(run.stdout(), "one\n\ntwo\n");
  assert.ok(looks >= 4, String(looks));
});

test("the version of a roll-out comes before the label, and an update that is not run is a problem of its app cluster", () => {
  const updates = { line: "patch", floor: "v0.1.0" };
  const held = { ...updates, problem: "v0.2.0 does not start: \u001b[31mImagePullBackOff" };
  const row = (konnectorUpdates: unknown): Readonly<Record<string, unknown>> => {
    const one = binding("a", { ...beat, konnectorUpdates });
    const annotations = { "klutch.anynines.com/konnector-version": "v0.2.0" };
    const [found] = clusterRows([{ ...one, metadata: { ...one.metadata, annotations } }], [], now);
    return found?.fields ?? {};
  };
  const { wanted, follows, state } = row(updates);
  assert.deepEqual([wanted, follows, state], ["v0.2.0", "patch from v0.1.0", "behind"]);
  assert.match(
    String(row(held)["problem"]),
    /^KonnectorUpdate Refused: the wanted konnector version is not run: v0\.2\.0 does not start: +\[31mImage/,
  );
  assert.deepEqual(row({ line: "any", floor: 1 })["follows"], "-");
});
