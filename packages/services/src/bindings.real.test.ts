import assert from "node:assert/strict";
import { test } from "node:test";
import { claimResource } from "./data-service.ts";
import { services } from "./list.ts";
import { type ClaimCase, startClaimServer, verdict } from "./testing/claim-server.ts";

const bindings = claimResource("ServiceBinding");
const server = await startClaimServer("binding-claims");
const pgBinding = { instanceRef: "orders", serviceInstanceType: "postgresql" };

const cases: readonly ClaimCase[] = [
  ["a binding without a compositionRef", pgBinding, undefined],
  ["a binding without an instance", { serviceInstanceType: "postgresql" }, /instanceRef: Required value/],
  [
    "a binding to a service that may have been added: app clusters are offered less than the control plane takes",
    { ...pgBinding, serviceInstanceType: "s3" },
    undefined,
  ],
  [
    "a binding to an unknown type of service",
    { ...pgBinding, serviceInstanceType: "S3!" },
    /spec\.serviceInstanceType in body should match/,
  ],
  [
    "a binding to a name that no claim has",
    { ...pgBinding, instanceRef: "Orders" },
    /instanceRef in body should match/,
  ],
  [
    "a binding with fields of object stores, which have no effect",
    { ...pgBinding, region: "us-east-1", policy: "a" },
    undefined,
  ],
  [
    "a binding in a region that there never was",
    { ...pgBinding, region: "mars" },
    /spec\.region: Unsupported value: "mars": supported values: "eu-central-1", "us-east-1"/,
  ],
  [
    "a binding of another service in the cluster",
    { instanceRef: "cache", serviceInstanceType: "keyvalue", compositionRef: { name: "a8s-servicebinding" } },
    /is "keyvalue"; with the Composition a8s-servicebinding it must be "postgresql"/,
  ],
  ["a binding whose credentials are rotated", { ...pgBinding, rotate: "2026-11-22T18:00:00Z" }, undefined],
  [
    "a text that is more than a word",
    { ...pgBinding, rotate: "as soon as possible" },
    /spec\.rotate in body should match/,
  ],
  [
    "a text that is too long",
    { ...pgBinding, rotate: "x".repeat(65) },
    /spec\.rotate: Too long: may not be more than 64/,
  ],
  [
    "a time that is below zero",
    { ...pgBinding, rotateGraceSeconds: -1 },
    /spec\.rotateGraceSeconds in body should be greater than or equal to 0/,
  ],
  [
    "a time of more than a week",
    { ...pgBinding, rotateGraceSeconds: 604_801 },
    /spec\.rotateGraceSeconds in body should be less than or equal to 604800/,
  ],
  [
    "a rotation in the cluster",
    { ...pgBinding, rotate: "1", compositionRef: { name: "a8s-servicebinding" } },
    /rotate is not supported for a8s-servicebinding: remove it/,
  ],
  ...services().map(
    ({ title, type }): ClaimCase => [
      `a binding to ${title}`,
      { instanceRef: "orders", serviceInstanceType: type },
      undefined,
    ],
  ),
];
for (const [index, [what, spec, message]] of cases.entries())
  test(`${verdict(message)}: ${what}`, () => server.claim(bindings, `claim-${index}`, spec, message));

test("a binding cannot be moved to another instance", async () => {
  await server.create(bindings, "moving", pgBinding);
  for (const [field, value, message] of [
    ["instanceRef", "other", /InstanceRef is an immutable field: it is "orders" and cannot become "other"/],
    ["serviceInstanceType", "mongodb", /ServiceInstanceType is an immutable field: it is "postgresql"/],
  ] as const)
    await assert.rejects(server.patch(bindings, "moving", { [field]: value }), message);
});
