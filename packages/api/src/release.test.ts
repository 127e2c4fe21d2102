import assert from "node:assert/strict";
import { test } from "node:test";
import { artefact, parseRegistry, registryAddress, RegistryError, releaseRegistry } from "./release.ts";
import { klutchVersion } from "./versions.ts";

test("an artefact is named by registry, name and version, and by its digest besides when that is known", () => {
  assert.equal(artefact("konnector"), `${releaseRegistry}/konnector:${klutchVersion}`);
  const registry = parseRegistry("mirror.example.org:5000/team");
  const digest = `sha256:${"ab".repeat(32)}`;
  assert.equal(
    artefact("charts/klutch", { registry, digest }),
    `mirror.example.org:5000/team/charts/klutch:${klutchVersion}@${digest}`,
  );
});

test("the registry of releases is one that no one can serve", () => {
  assert.match(releaseRegistry, /^[^/]+\.example\//);
});

for (const right of [
  "registry.example.org",
  "registry.example.org/klutch",
  "127.0.0.1:5000",
  "localhost",
  "localhost:5000/a/b.c/d_e/f__g/h--i",
  "registry:5000",
  "[::1]:5000/klutch",
])
  test(`${right} is a registry`, () => assert.equal(parseRegistry(right), right));

const wrong: readonly (readonly [string, RegExp])[] = [
  ["", /^--registry: is "", which is empty; expected HOST\[:PORT\]\[\/PATH\], such as/],
  ["registry.example.org /klutch", /which has a space/],
  ["registry.example.org\n", /which has a space/],
  ["https://registry.example.org", /which has a scheme/],
  ["oci://registry.example.org", /which has a scheme/],
  ["registry.example.org/klutch:v1", /which has a tag/],
  ["registry.example.org:v1", /port "v1" is no number from 1 to 65535 \(a tag/],
  ["registry.example.org:0/x", /port "0"/],
  ["registry.example.org:65536/x", /port "65536"/],
  ["registry.example.org:/x", /port ""/],
  ["registry.example.org/klutch@sha256:ab", /a digest or a user/],
  ["user:password@registry.example.org", /a digest or a user/],
  ["registry.example.org/klutch/", /slash at its end/],
  ["registry.example.org//klutch", /empty part/],
  ["registry.example.org/Klutch", /part "Klutch" may have only small letters/],
  ["registry.example.org/../x", /part "\.\."/],
  ["-registry.example.org", /host "-registry.example.org"/],
  ["klutch", /host "klutch" has neither a dot nor a port/],
  ["/klutch", /host ""/],
  [`${"a".repeat(300)}.example.org`, /longer than 200/],
];
for (const [value, problem] of wrong)
  test(`${JSON.stringify(value.slice(0, 40))} is no registry`, () => {
    assert.throws(
      () => parseRegistry(value),
      (error) => {
        assert.ok(error instanceof RegistryError);
        assert.match(error.message, problem);
        assert.match(error.message, /; expected HOST/);
        return true;
      },
    );
  });

test("the message names the field that was wrong", () => {
  assert.throws(() => parseRegistry("x", "image.registry"), /^RegistryError: image\.registry: is "x"/);
});

test("a password in front of the host is not shown", () => {
  for (const value of [
    "somebody:geheim@registry.example.org",
    "https://somebody:geheim@registry.example.org",
  ])
    assert.throws(
      () => parseRegistry(value),
      (error) => error instanceof RegistryError && !error.message.includes("geheim"),
    );
});

test("a registry is reached over TLS, except on this machine", () => {
  const address = (value: string): string => {
    const { url, path } = registryAddress(parseRegistry(value));
    return `${url} ${path}`;
  };
  assert.equal(address("registry.example.org:5000/a/b"), "https://registry.example.org:5000 a/b");
  assert.equal(address("127.0.0.1:5000"), "http://127.0.0.1:5000 ");
  assert.equal(address("localhost/klutch"), "http://localhost klutch");
  assert.equal(address("127.0.0.1.example.org/x"), "https://127.0.0.1.example.org x");
  assert.equal(address("[::1]:5000/x"), "http://[::1]:5000 x");
});
