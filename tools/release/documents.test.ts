import assert from "node:assert/strict";
import { test } from "node:test";
import { recordsAt, textAt } from "@klutch/kube-core";
import { lockedPackage, packageFolders } from "./lock-file.ts";
import { type Contents, provenanceOf, spdxDocument } from "./documents.ts";

const undici = await lockedPackage("node_modules/undici");
const contents: Contents = {
  name: "klutch/konnector",
  version: "v1.0.0",
  architecture: "arm64",
  debian: [{ name: "libstdc++6", version: "12.2.0-14+deb12u1" }],
  npm: [undici],
  created: "2026-01-01T00:00:00Z",
};

test("packages are found in the names of bundled files, the inner one of two, and scopes belong to the name", () => {
  assert.deepEqual(
    packageFolders([
      "node_modules/pino/lib/a.js",
      "node_modules/pino/b.js",
      "apps/konnector/src/main.ts",
      "node_modules/@hono/node-server/index.js",
      "node_modules/accepts/node_modules/mime-db/db.json",
    ]),
    ["node_modules/@hono/node-server", "node_modules/accepts/node_modules/mime-db", "node_modules/pino"],
  );
});

test("a package that the lock file does not have is refused by name", async () => {
  await assert.rejects(
    lockedPackage("node_modules/left-pad"),
    /no version and integrity of node_modules\/left-pad/,
  );
});

test("a document names each package with its locator and digest, and has a namespace of its own", () => {
  const document = spdxDocument(contents);
  const packages = recordsAt(document, "packages");
  assert.deepEqual(
    packages.map((each) => textAt(recordsAt(each, "externalRefs")[0], "referenceLocator")),
    [
      "pkg:oci/konnector?arch=arm64&tag=v1.0.0",
      "pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=arm64",
      `pkg:npm/undici@${undici.version}`,
    ],
  );
  const [checksum] = recordsAt(packages.at(-1), "checksums");
  assert.match(textAt(checksum, "checksumValue") ?? "", /^[0-9a-f]{128}$/);
  assert.equal(recordsAt(document, "relationships").length, packages.length);
  const other = spdxDocument({ ...contents, version: "v1.0.1" });
  assert.notEqual(textAt(document, "documentNamespace"), textAt(other, "documentNamespace"));
  assert.deepEqual(spdxDocument(contents), document);
});

test("a statement is about the image's digest and names the commit", () => {
  const statement = provenanceOf("sha256:ab", contents, {
    revision: "c0ffee",
    committedAt: contents.created,
  });
  const [subject] = recordsAt(statement, "subject");
  assert.equal(textAt(subject, "digest", "sha256"), "ab");
  const [source] = recordsAt(statement, "predicate", "buildDefinition", "resolvedDependencies");
  assert.equal(textAt(source, "digest", "gitCommit"), "c0ffee");
});
