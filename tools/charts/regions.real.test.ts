/** Tests that the chart gives Crossplane the right that docs/several-brokers.md gives it. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { parseYaml } from "@klutch/kube";
import { isRecord, recordAt, textAt } from "@klutch/kube-core";
import { repositoryRoot } from "../root.ts";
import { chartPath, type Rendered, startHelm } from "./testing/helm.ts";
import { atHome, minimal } from "./testing/values.ts";

const helm = await startHelm();
after(() => helm[Symbol.asyncDispose]());

async function rendered(regions: boolean): Promise<readonly Rendered[]> {
  const values = { ...minimal.klutch, packages: { regions } };
  const all = await helm.template(chartPath("klutch"), values, ...atHome.klutch);
  return all.filter((each) => textAt(each, "metadata", "name") === "klutch-regions");
}

test("with a value the chart has the role of the page, which stays when the release goes; without it, it has none", async () => {
  assert.deepEqual(await rendered(false), []);
  const [role, ...others] = await rendered(true);
  assert.ok(role !== undefined && others.length === 0);
  const { annotations, ...metadata } = recordAt(role, "metadata");
  assert.deepEqual(annotations, { "helm.sh/resource-policy": "keep" });
  const page = await readFile(join(repositoryRoot, "docs", "several-brokers.md"), "utf8");
  const [, manifest = ""] = /^```sh\nkubectl apply -f - <<EOF\n([^]*?)^EOF$/m.exec(page) ?? [];
  const ofPage = parseYaml(manifest);
  assert.ok(isRecord(ofPage));
  assert.deepEqual({ ...role, metadata }, ofPage);
});
