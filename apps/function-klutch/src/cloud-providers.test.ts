/** The manifests of docs/cloud-providers.md for providers that were never run here, read as the function reads them. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { claimNameLabel, claimNamespaceLabel } from "@klutch/api";
import { recordAt, textAt, valueAt } from "@klutch/kube-core";
import { parseYamlDocuments } from "@klutch/kube";
import { compose } from "./compose.ts";

const page = await readFile(new URL("../../../docs/cloud-providers.md", import.meta.url), "utf8");
const labels = { [claimNameLabel]: "invoices", [claimNamespaceLabel]: "shop" };

/** Returns the input in the one block below a heading. */
function inputOf(heading: string): Readonly<Record<string, unknown>> {
  const [, section = ""] = page.split(`\n### ${heading}\n`);
  const [, block = ""] = /^```yaml\n([^]*?)^```$/m.exec(section.split("\n### ")[0] ?? "") ?? [];
  const [input] = parseYamlDocuments(block);
  return recordAt({ input }, "input");
}

const none = {};
for (const [cloud, kind, fields, region, reported] of [
  ["AWS", "Bucket", { region: "eu-west-1", tags: { claim: "invoices" } }, "region", "arn"],
  [
    "Azure",
    "Container",
    {
      storageAccountName: "exampleapps",
      containerAccessType: "private",
      metadata: { claim: "invoices" },
    },
    undefined,
    "id",
  ],
  [
    "GCP",
    "Bucket",
    {
      location: "eu-west-1",
      uniformBucketLevelAccess: true,
      publicAccessPrevention: "enforced",
      labels: { claim: "invoices" },
    },
    "location",
    "url",
  ],
] as const)
  test(`the step of ${cloud} makes a managed resource with the claim's fields, and no claim reaches others`, () => {
    const input = inputOf(cloud);
    const ask = (
      spec: object,
      observed: Readonly<Record<string, unknown>> = none,
    ): ReturnType<typeof compose> =>
      compose({
        composite: { kind: "XBucket", metadata: { name: "invoices-x1", uid: "u-1", labels }, spec },
        observed: observed === none ? {} : { managed: { resource: observed, connection: {} } },
        input,
        now: undefined,
      });
    const forged = { region: "eu-west-1", policy: "public", forProvider: { forceDestroy: true } };
    const made = recordAt(ask(forged).resources, "managed", "resource");
    assert.deepEqual(
      [textAt(made, "kind"), valueAt(made, "spec")],
      [kind, { providerConfigRef: { name: "default" }, forProvider: fields }],
    );
    if (region !== undefined)
      assert.ok(textAt(recordAt(ask({}).resources, "managed", "resource"), "spec", "forProvider", region));
    const status = { atProvider: { [reported]: "x", secret: "y" }, conditions: [] };
    const living = { ...made, metadata: { ...recordAt(made, "metadata"), name: "invoices-x1-a" }, status };
    const said = JSON.stringify(ask(forged, living));
    assert.match(said, new RegExp(`"${reported}":"x"`));
    assert.doesNotMatch(said, /"secret":"y"/);
  });
