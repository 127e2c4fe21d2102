import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRegistry } from "@klutch/api";
import { renamed } from "./references.ts";

const registry = parseRegistry("mirror.example.org:5000/team");
const digest = `sha256:${"ab".repeat(32)}`;
const images = [
  { name: "konnector", tag: "v1.0.0", digest },
  { name: "charts/konnector", tag: "v1.0.0", digest: `sha256:${"cd".repeat(32)}` },
];
const rename = (text: string): string => renamed(text, "install.yaml", images, registry);

test("a reference by digest gets the other registry, wherever it stands, and everything else stays", () => {
  const text = (from: string): string =>
    [
      `image: ${from}/konnector:v1.0.0@${digest}`,
      `- --konnector-image=${from}/konnector:v1.0.0@${digest}`,
      "",
    ].join("\n");
  assert.equal(rename(text("registry.klutch.example/klutch")), text(registry));
  assert.equal(
    rename("kind: konnector\nimage: other/thing:v1\n"),
    "kind: konnector\nimage: other/thing:v1\n",
  );
});

test("the longer of two names is meant", () => {
  const own = `x.example.org/charts/konnector:v1.0.0@sha256:${"cd".repeat(32)}`;
  assert.equal(rename(own), own.replace("x.example.org", registry));
});

test("a reference that the archive does not have, or by tag alone, is refused by name", () => {
  for (const wrong of [
    "x.example.org/konnector:v1.0.0",
    `x.example.org/konnector:v1.0.0@sha256:${"ef".repeat(32)}`,
    `x.example.org/konnector:v1.0.0@${digest}00`,
  ])
    assert.throws(() => rename(`image: ${wrong}\n`), {
      code: "Manifest",
      message: /^install\.yaml names x\.example/,
    });
});
