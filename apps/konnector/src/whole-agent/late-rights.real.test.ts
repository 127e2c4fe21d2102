/** A konnector that starts before a real API server lets it read or create the kind of bindings. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiServiceBindingCrd, apiServiceBindings, konnectorManifests } from "@klutch/api";
import { customResourceDefinitions, type KubeObject } from "@klutch/kube-core";
import { installKinds, installRights, leaseCluster, waitFor } from "@klutch/kube-testing";
import { createLogger } from "@klutch/telemetry";
import { startKonnector } from "../testing/fixture.ts";

const manifests: readonly KubeObject[] = konnectorManifests({ image: "none" });
/** All but the rules of the whole cluster. */
const early = manifests.filter(({ kind }) => kind !== "ClusterRole");

test("a konnector whose rights come late makes the kind of bindings then", async () => {
  await using consumer = await leaseCluster({ appCluster: true });
  await installRights(consumer.client, early);
  const lines: string[] = [];
  const logger = createLogger({ name: "konnector", write: (line) => void lines.push(line) });
  await using _ = await startKonnector({ consumer }, { logger });
  await waitFor("the refusal", () => lines.some((line) => /forbidden.*starting it again/.test(line)));
  await installRights(consumer.client, manifests);
  await waitFor("the kind of bindings", () => consumer.client.list(apiServiceBindings));
});

test("a konnector that may not read CustomResourceDefinitions works when the kind of bindings is there", async () => {
  await using consumer = await leaseCluster({ appCluster: true });
  const rules = manifests.map((manifest) => withoutCrds(manifest));
  await installRights(consumer.client, rules);
  await installKinds(consumer.client, [apiServiceBindingCrd as unknown as KubeObject]);
  await using konnector = await startKonnector({ consumer });
  await waitFor("the watch of bindings", () => konnector.watches.includes("consumer apiservicebindings"));
  assert.deepEqual(konnector.writes, []);
});

function withoutCrds(manifest: KubeObject): KubeObject {
  const { rules } = manifest as { readonly rules?: readonly { readonly resources: readonly string[] }[] };
  if (rules === undefined) return manifest;
  const left = rules.filter(({ resources }) => !resources.includes(customResourceDefinitions.plural));
  return { ...manifest, rules: left } as KubeObject;
}
