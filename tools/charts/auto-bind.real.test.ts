/** Rights for APIs that are bound by themselves: what the chart grants with the value, and that it grants nothing of it without. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  autoBindAnnotation,
  autoBindManifests,
  autoBindRole,
  konnectorPolicyManifests,
  parseAutoBind,
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
