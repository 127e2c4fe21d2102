import assert from "node:assert/strict";
import { test } from "node:test";
import { claimResource } from "./data-service.ts";
import { type ClaimCase, startClaimServer, verdict } from "./testing/claim-server.ts";

const backups = claimResource("Backup");
const restores = claimResource("Restore");
const server = await startClaimServer("backup-claims");

const backup = (spec: object = {}): object => ({
  instanceRef: "orders",
  serviceInstanceType: "postgresql",
  ...spec,
});
const restore = (spec: object = {}): object => ({
  backupRef: "nightly",
  serviceInstanceType: "postgresql",
  ...spec,
});
const made = (composition: string): object => ({ compositionRef: { name: composition } });
const onlyPostgresql = (type: string): RegExp =>
  new RegExp(
    `spec\\.serviceInstanceType: .*type is not supported: .* is "${type}"; with the Composition a8s-\\w+ it must be "postgresql"`,
  );
const notAName = /should match '\^\[a-z0-9\]/;

const backupCases: readonly ClaimCase[] = [
  ["a backup without a compositionRef", backup(), undefined],
  ["a backup with the a9s Composition", backup(made("a9s-backup")), undefined],
  ["a backup of nothing", { serviceInstanceType: "postgresql" }, /spec\.instanceRef: Required value/],
  ["a backup of no type", { instanceRef: "orders" }, /spec\.serviceInstanceType: Required value/],
  ["a backup of a name that no claim has", backup({ instanceRef: "Orders!" }), notAName],
  ["a backup of an empty name", backup({ instanceRef: "" }), notAName],
  [
    "a backup of an unknown type of service",
    backup({ serviceInstanceType: "" }),
    /spec\.serviceInstanceType in body should match/,
  ],
  ...[
    "keyvalue",
    "logme2",
    "mariadb",
    "messaging",
    "mongodb",
    "objectstorage",
    "postgresql",
    "prometheus",
    "search",
  ].flatMap((type): readonly ClaimCase[] => {
    const spec = backup({ serviceInstanceType: type });
    const isPostgresql = type === "postgresql";
    return [
      [`a backup of ${type} at a backup manager`, { ...spec, ...made("a9s-backup") }, undefined],
      [
        `a backup of ${type} in the cluster`,
        { ...spec, ...made("a8s-backup") },
        isPostgresql ? undefined : onlyPostgresql(type),
      ],
    ];
  }),
];

const restoreCases: readonly ClaimCase[] = [
  ["a restore without an instance", restore(), undefined],
  ["a restore with its instance", restore({ instanceRef: "orders" }), undefined],
  ["a restore in the cluster", restore({ ...made("a8s-restore"), instanceRef: "orders" }), undefined],
  [
    "a restore in the cluster without an instance",
    restore(made("a8s-restore")),
    /spec\.instanceRef: .*restores without instance ref are not supported for a8s/,
  ],
  [
    "a restore of another service in the cluster",
    restore({ ...made("a8s-restore"), instanceRef: "orders", serviceInstanceType: "search" }),
    onlyPostgresql("search"),
  ],
  ["a restore of nothing", { serviceInstanceType: "postgresql" }, /spec\.backupRef: Required value/],
  ["a restore of no type", { backupRef: "nightly" }, /spec\.serviceInstanceType: Required value/],
  ["a restore of a name that no claim has", restore({ backupRef: "-nightly" }), notAName],
  ["a restore into a name that no claim has", restore({ instanceRef: "UPPER" }), notAName],
  [
    "a restore of an unknown type of service",
    restore({ serviceInstanceType: "a".repeat(31) }),
    /spec\.serviceInstanceType: Too long: may not be more than 30 bytes/,
  ],
];

for (const [type, cases] of [
  [backups, backupCases],
  [restores, restoreCases],
] as const)
  for (const [index, [what, spec, message]] of cases.entries())
    test(`${verdict(message)}: ${what}`, () => server.claim(type, `claim-${index}`, spec, message));

test("what a backup is of, and what a restore is made from, cannot be changed", async () => {
  await server.create(backups, "kept", backup());
  await server.create(restores, "kept", restore({ instanceRef: "orders" }));
  await server.create(restores, "bare", restore());
  const stays = (field: string, now: string, then: string): RegExp =>
    new RegExp(`${field} is an immutable field: it is ${now} and cannot become ${then}`);
  for (const [type, name, change, message] of [
    [backups, "kept", { instanceRef: "other" }, stays("InstanceRef", '"orders"', '"other"')],
    [
      backups,
      "kept",
      { serviceInstanceType: "mariadb" },
      stays("ServiceInstanceType", '"postgresql"', '"mariadb"'),
    ],
    [restores, "kept", { backupRef: "older" }, stays("BackupRef", '"nightly"', '"older"')],
    [restores, "kept", { instanceRef: "other" }, stays("InstanceRef", '"orders"', '"other"')],
    [restores, "kept", { instanceRef: null }, stays("InstanceRef", '"orders"', "unset")],
    [restores, "bare", { instanceRef: "orders" }, stays("InstanceRef", "unset", '"orders"')],
  ] as const)
    await assert.rejects(server.patch(type, name, change), message);
});
