/** Rights for APIs that are bound by themselves: what the chart grants with the value, and that it grants nothing of it without. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  autoBindAnnotation,
  autoBindManifests,
  autoBindRole,
  klutchVersion,
  konnectorPolicyManifests,
  parseAutoBind,
  releaseRegistry,
  updateArguments,
  updateManifests,
} from "@klutch/api";
import { textAt } from "@klutch/kube-core";
import { chartPath, objectOf, type Rendered, startHelm } from "./testing/helm.ts";
import { atHome } from "./testing/values.ts";

const helm = await startHelm();
after(() => helm[Symbol.asyncDispose]());
const konnector = (values: object): Promise<readonly Rendered[]> =>
  helm.template(chartPath("klutch-konnector"), values, ...atHome["klutch-konnector"]);
const provider = { url: "https://klutch.example.org", appCluster: "prod" };

test("named groups have rights and a policy, which the plugin can read and write again", async () => {
  const autoBind = { groups: ["example.org"], except: ["odd.example.org"] };
  const rendered = await konnector({ autoBind, provider });
  const policy = konnectorPolicyManifests({ apis: [], claims: [], secretTypes: [], autoBind });
  for (const manifest of [...policy, ...autoBindManifests(autoBind)])
    assert.deepEqual(
      objectOf(rendered, manifest.kind, manifest.metadata.name),
      JSON.parse(JSON.stringify(manifest)),
    );
  const role = objectOf(rendered, "ClusterRole", autoBindRole);
  assert.deepEqual(parseAutoBind(textAt(role, "metadata", "annotations", autoBindAnnotation)), autoBind);
  const flags = /"--auto-bind-groups=example\.org","--auto-bind-except=odd\.example\.org"/;
  assert.match(JSON.stringify(objectOf(rendered, "Deployment")), flags);
});

test("without the value there is no such role, flag or right", async () => {
  const rendered = await konnector({ provider });
  assert.doesNotMatch(JSON.stringify(rendered), /auto-bind/);
});

test("with followUpdates the chart has just the flags, role and policy that the plugin writes, and without it none of them", async () => {
  const scope = { line: "patch", floor: klutchVersion, repository: `${releaseRegistry}/konnector` } as const;
  const rendered = await konnector({ followUpdates: "patch" });
  const policy = konnectorPolicyManifests({ apis: [], claims: [], secretTypes: [], updates: scope });
  for (const manifest of [...policy, ...updateManifests(scope)])
    assert.deepEqual(
      objectOf(rendered, manifest.kind, manifest.metadata.name),
      JSON.parse(JSON.stringify(manifest)),
    );
  const args = JSON.stringify(objectOf(rendered, "Deployment"));
  for (const arg of updateArguments(scope)) assert.ok(args.includes(JSON.stringify(arg)), arg);
  assert.doesNotMatch(JSON.stringify(await konnector({})), /follow-updates|konnector-updates/);
});
