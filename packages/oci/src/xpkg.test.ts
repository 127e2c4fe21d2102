import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { gunzipSync } from "node:zlib";
import { digestOf, layerOf } from "./image.ts";
import { tar } from "./tar.ts";
import { buildXpkg } from "./xpkg.ts";

test("the same package text gives the same digest, another text another", () => {
  assert.equal(buildXpkg("a: 1\n").manifest.digest, buildXpkg("a: 1\n").manifest.digest);
  assert.notEqual(buildXpkg("a: 1\n").manifest.digest, buildXpkg("a: 2\n").manifest.digest);
});

test("the layer is a gzipped tar with package.yaml, and the config names its uncompressed digest", () => {
  const { blobs, manifest } = buildXpkg("kind: Configuration\n");
  const [config, layer] = blobs;
  assert.ok(config !== undefined && layer !== undefined);
  const listing = execFileSync("tar", ["-xOzf", "-", "package.yaml"], {
    input: layer.bytes,
    encoding: "utf8",
  });
  assert.equal(listing, "kind: Configuration\n");
  const text = Buffer.from(config.bytes).toString();
  assert.ok(text.includes(`io.crossplane.xpkg:${layer.digest}`));
  assert.ok(Buffer.from(manifest.bytes).toString().includes('"io.crossplane.xpkg":"base"'));
  assert.equal(gunzipSync(layer.bytes).length % 512, 0);
});

test("tar itself reads the archive, block-sized content and an empty file included", () => {
  const files = [
    { path: "empty", content: new Uint8Array() },
    { path: "folder/block", content: Buffer.alloc(512, "x") },
  ];
  const listing = execFileSync("tar", ["-tvf", "-"], { input: tar(files), encoding: "utf8" });
  assert.match(listing, /^-rw-r--r-- 0\/0\s+0 .* empty\n-rw-r--r-- 0\/0\s+512 .* folder\/block\n$/);
});

test("a path that does not fit is refused by name", () => {
  assert.throws(
    () => tar([{ path: "x".repeat(101), content: new Uint8Array() }]),
    /must have 1 to 100 bytes/,
  );
});

test("each descriptor of the manifest has digest, size and type of its blob", () => {
  const { blobs, manifest } = buildXpkg("kind: Provider\n");
  const parsed: unknown = JSON.parse(Buffer.from(manifest.bytes).toString());
  assert.ok(typeof parsed === "object" && parsed !== null && "config" in parsed && "layers" in parsed);
  assert.ok(Array.isArray(parsed.layers));
  const layers: readonly unknown[] = parsed.layers;
  const described = [parsed.config, ...layers];
  assert.equal(described.length, blobs.length);
  for (const [index, { digest, bytes, mediaType }] of blobs.entries()) {
    assert.equal(digest, digestOf(bytes));
    assert.partialDeepStrictEqual(described[index], { digest, size: bytes.length, mediaType });
  }
  assert.equal(manifest.digest, digestOf(manifest.bytes));
});

test("tar gives back what was put in, whatever its size and name", () => {
  const file = fc.record({
    path: fc
      .string({ minLength: 1, maxLength: 99, unit: fc.constantFrom("a", "b", "-", ".", " ") })
      .map((name) => `f${name}`),
    content: fc.uint8Array({ maxLength: 1_100 }),
  });
  fc.assert(
    fc.property(
      fc.uniqueArray(file, { minLength: 1, maxLength: 3, selector: ({ path }) => path }),
      (files) => {
        const archive = tar(files);
        for (const { path, content } of files) {
          const read = execFileSync("tar", ["-xOf", "-", "--", path], { input: archive });
          assert.deepEqual(new Uint8Array(read), content, path);
        }
      },
    ),
    { numRuns: 20 },
  );
});

test("folders, links and modes come out as they were put in", () => {
  const archive = tar([
    { path: "tmp", folder: true, mode: 0o1777 },
    { path: "run", content: Buffer.from("x"), mode: 0o755 },
    { path: "link", linkTo: "/run" },
  ]);
  const listing = execFileSync("tar", ["-tvf", "-"], { input: archive, encoding: "utf8" });
  assert.match(
    listing,
    /^drwxrwxrwt 0\/0\s+0 .* tmp\/\n-rwxr-xr-x 0\/0\s+1 .* run\nlrwxrwxrwx 0\/0\s+0 .* link -> \/run\n$/,
  );
});

test("a package with a program has its layers and starts as it does, with the package's layer marked", () => {
  const program = layerOf([{ path: "app", content: Buffer.from("x") }]);
  const runtime = { architecture: "arm64", layers: [program], config: { User: "65532" } } as const;
  const { blobs } = buildXpkg("kind: Function\n", runtime);
  const [config, first, last] = blobs;
  assert.deepEqual(first, program.blob);
  const described: unknown = JSON.parse(Buffer.from(config?.bytes ?? []).toString());
  assert.partialDeepStrictEqual(described, {
    architecture: "arm64",
    config: { User: "65532", Labels: { [`io.crossplane.xpkg:${last?.digest}`]: "base" } },
  });
});
