import assert from "node:assert/strict";
import { test } from "node:test";
import { openTree } from "../checks/tree.ts";
import { flagsPage } from "./flags-page.ts";

const page = flagsPage();

test("each server, each command and each flag is on the page", () => {
  for (const line of [
    /^## konnector$/m,
    /^## provider-anynines$/m,
    /^## klutch service apply <file>$/m,
    /^\| `--mass-deletion-limit=<number>` \| `5` \| Deleted claims of one API/m,
    /^\| `BROKER_SECRET_KEY` \| {2}\| .*Required \|$/m,
    /^\| `--to <folder>` \| {2}\| .*\. Required \|$/m,
    /Variable `OIDC_CLIENT_SECRET` \|/,
  ])
    assert.match(page, line);
  assert.equal(page.match(/`--certificate-authority <path>`/g)?.length, 1);
  assert.doesNotMatch(page, /--no-banner/);
});

test("each environment variable that a program reads by its name is on the page", () => {
  const isShipped = (path: string): boolean =>
    /^(?:apps|packages|sandbox|proof\/kube-testing)\/.*\.ts$/.test(path) &&
    !/\.test\.ts$|\/testing\//.test(path);
  const files = openTree().files(isShipped);
  const names = files.flatMap(({ text }) =>
    [...text.matchAll(/\b(?:[eE]nv\[|valueOf\()"([A-Z][A-Z_]+)"/g)].map(([, name = ""]) => name),
  );
  assert.ok(new Set(names).size >= 8, names.join());
  // One is set for the server that is started, and one is read by every program.
  const others = ["LD_LIBRARY_PATH", "PATH"];
  assert.deepEqual(
    names.filter((name) => !others.includes(name) && !page.includes(`\`${name}\``)),
    [],
  );
});
