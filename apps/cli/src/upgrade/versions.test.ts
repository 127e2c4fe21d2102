import assert from "node:assert/strict";
import { test } from "node:test";
import { imageOf, isOlder, newestFor, oldestFor, skewOf } from "./versions.ts";

test("a part may be one minor version away, and 0.0.0 says nothing", () => {
  const release = "v1.6.0";
  for (const [version, skew] of [
    ["v1.6.0", "fits"],
    ["1.5.9", "fits"],
    ["v1.5.0+kube-bind-v0.0.15", "fits"],
    ["v1.6.1", "newer"],
    ["v1.7.3", "newer"],
    ["v1.8.0", "too new"],
    ["v2.0.0", "too new"],
    ["v1.4.9", "too old"],
    ["v0.6.0", "too old"],
    ["v0.0.0-dev", "development"],
    ["unknown", "unknown"],
    ["", "unknown"],
    ["v1.6", "unknown"],
    ["v1.99999999999999999999.0", "unknown"],
  ] as const)
    assert.equal(skewOf(version, release), skew, version);
  assert.deepEqual([oldestFor(release), newestFor(release)], ["v1.5", "v1.7"]);
  assert.equal(oldestFor("v2.0.0"), "v2.0");
});

test("a version is compared by its three numbers, whatever follows them", () => {
  assert.equal(isOlder("v1.29.15-gke.100", [1, 30, 0]), true);
  assert.equal(isOlder("v1.30.0+k3s1", [1, 30, 0]), false);
  assert.equal(isOlder("latest", [1, 30, 0]), undefined);
});

test("an image's name is taken apart, also with a port and a digest, and an invalid name does not throw", () => {
  const name = (text: string): readonly unknown[] => {
    const { repository, base, tag } = imageOf(text);
    return [repository, base, tag];
  };
  assert.deepEqual(name("h:5000/klutch/konnector:v1.6.0@sha256:ab"), [
    "h:5000/klutch/konnector",
    "konnector",
    "v1.6.0",
  ]);
  assert.deepEqual(name("h:5000/klutch/konnector@sha256:ab"), [
    "h:5000/klutch/konnector",
    "konnector",
    undefined,
  ]);
  assert.deepEqual(name("konnector"), ["konnector", "konnector", undefined]);
  assert.deepEqual(name(""), ["", "", undefined]);
  assert.deepEqual(name("/:"), ["/", "", undefined]);
});
