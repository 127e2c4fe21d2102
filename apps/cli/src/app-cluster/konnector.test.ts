import assert from "node:assert/strict";
import { test } from "node:test";
import { artefact, parseRegistry, releaseRegistry } from "@klutch/api";
import { watchesAll } from "./konnector-image.ts";
import { planKonnector } from "./konnector.ts";

const flags = {
  konnectorImage: undefined,
  registry: undefined,
  skipKonnector: false,
  downgradeKonnector: false,
};
const own = artefact("konnector");
const repository = `${releaseRegistry}/konnector`;

test("a missing konnector is installed, an older one replaced, the same left", () => {
  assert.deepEqual(planKonnector(undefined, flags), {
    kind: "apply",
    image: own,
    reason: "none is installed yet",
  });
  const older = planKonnector(`${repository}:v0.9.0`, flags);
  assert.ok(older.kind === "apply" && older.image === own);
  assert.equal(planKonnector(own, flags).kind, "keep");
});

test("--downgrade-konnector has an effect, and without it a newer konnector stays", () => {
  const newer = `${repository}:v99.0.0`;
  const kept = planKonnector(newer, flags);
  assert.ok(kept.kind === "keep" && kept.reason.includes("--downgrade-konnector"));
  assert.equal(planKonnector(newer, { ...flags, downgradeKonnector: true }).kind, "apply");
});

test("an image whose version cannot be compared stays", () => {
  for (const image of ["example.test/own/konnector:v0.0.1", `${repository}:latest`, repository]) {
    const plan = planKonnector(image, flags);
    assert.ok(plan.kind === "keep", image);
    assert.match(plan.reason, /cannot be compared\. --registry or --konnector-image replaces it/);
  }
});

test("an image given by flag wins over everything, also over --skip-konnector", () => {
  const given = planKonnector(own, { ...flags, skipKonnector: true, konnectorImage: "example.test/k:1" });
  assert.ok(given.kind === "apply" && given.image === "example.test/k:1");
  assert.equal(planKonnector(undefined, { ...flags, skipKonnector: true }).kind, "keep");
});

test("--registry says where the image comes from, and replaces one of the same or an older version from elsewhere", () => {
  const registry = parseRegistry("mirror.example.org:5000/team");
  const mirrored = artefact("konnector", { registry });
  const given = { ...flags, registry };
  const image = (current: string | undefined): string | undefined => {
    const plan = planKonnector(current, given);
    return plan.kind === "apply" ? plan.image : undefined;
  };
  assert.equal(image(undefined), mirrored);
  assert.equal(image(own), mirrored);
  assert.equal(image("another.example.org/klutch/konnector:v1.5.0"), mirrored);
  assert.equal(image(`${registry}/konnector:v1.5.0@sha256:${"ab".repeat(32)}`), mirrored);
  for (const kept of [mirrored, `${mirrored}@sha256:ab`, `${repository}:v99.0.0`, "x.example.org/k:v1.0.0"])
    assert.equal(image(kept), undefined, kept);
});

test("without --registry the konnector of a mirror stays", () => {
  const plan = planKonnector("mirror.example.org/team/konnector:v0.9.0", flags);
  assert.ok(plan.kind === "keep" && plan.reason.includes("cannot be compared"));
});

test("a konnector watches claimed objects by name from this version on; an image that cannot be compared is taken for an older one", () => {
  assert.equal(watchesAll(own), false);
  assert.equal(watchesAll(`${repository}:v99.0.0`), false);
  const images = [
    undefined,
    "",
    `${repository}:latest`,
    "example.test/agent:v99.0.0",
    `${repository}:v1.5.0`,
  ];
  for (const image of images) assert.equal(watchesAll(image), true, String(image));
});
