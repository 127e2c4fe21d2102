import assert from "node:assert/strict";
import { after, test } from "node:test";
import { apiVersionOf, conditionsOf, type DynamicObject, isTrue } from "@klutch/kube-core";
import { isPortFree } from "@klutch/engines";
import { missingForOwnNetwork } from "./own-network.ts";
import { leaseCluster } from "./pool/lease.ts";
import { webhookTurn } from "./provider-kubernetes.ts";
import { nopResources, startProviderNop } from "./provider-nop.ts";
import { waitFor } from "./wait-for.ts";

const cluster = await leaseCluster();
after(() => cluster[Symbol.asyncDispose]());
const skip = (await missingForOwnNetwork()) ?? false;

test("provider-nop works, and listens nowhere on this machine", { skip }, async () => {
  const { client, kubeconfig, dataDir: clusterFolder } = cluster;
  // Otherwise a provider-kubernetes of another test could listen there.
  await using _turn = await webhookTurn();
  await using _provider = await startProviderNop({ client, kubeconfig, clusterFolder });
  const ref = { name: "one" };
  const conditionAfter = [{ conditionType: "Ready", conditionStatus: "True", time: "1s" }];
  await waitFor("its kinds to be served", () =>
    client.create<DynamicObject>(nopResources, {
      apiVersion: apiVersionOf(nopResources),
      kind: nopResources.kind,
      metadata: ref,
      spec: { forProvider: { conditionAfter } },
    }),
  );
  await waitFor("the resource to be ready", async () =>
    isTrue(conditionsOf(await client.get<DynamicObject>(nopResources, ref)), "Ready"),
  );
  assert.ok(await isPortFree(9443, "0.0.0.0"), "nothing listens at its port");
});
