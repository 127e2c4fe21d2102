import assert from "node:assert/strict";
import { test } from "node:test";
import { apiServiceExports, clusterBindings } from "@klutch/api";
import { namespaces, type ResourceType, secrets } from "@klutch/kube-core";
import { VirtualClock } from "@klutch/kube-testing";
import { ApiServerModel } from "@klutch/kube-testing";
import { databases, zones } from "./apis.ts";
import { misplaced, ProviderWords } from "./places.ts";
import { createTenant, prepareProvider } from "./tenant.ts";

const clock = new VirtualClock();
const provider = new ApiServerModel({ clock, uidSeed: 1 });
const client = provider.client({ clusterName: "provider-direct", user: "provider" });
const [tenant] = await clock.resolve(
  prepareProvider(client).then(() =>
    Promise.all([1, 2].map((index) => createTenant(index, 1, clock, client))),
  ),
);
assert.ok(tenant !== undefined);

function why(
  side: "consumer" | "provider",
  type: ResourceType,
  namespace: string | undefined,
  name: string,
): string | undefined {
  assert.ok(tenant !== undefined);
  const write = { identity: "agent", side, verb: "apply", type, namespace, name, body: {} };
  return misplaced(tenant, write, new ProviderWords(provider));
}

test("an agent may write bound kinds, accepted claims and its own objects", () => {
  assert.equal(why("provider", databases.type, "cluster-1-app", "a"), undefined);
  assert.equal(why("provider", zones.type, undefined, "cluster-1-a"), undefined);
  assert.equal(why("provider", apiServiceExports, "cluster-1", databases.name), undefined);
  assert.equal(why("provider", clusterBindings, "cluster-1", "cluster"), undefined);
  assert.equal(why("consumer", secrets, "app", "a-creds"), undefined);
  assert.equal(why("consumer", secrets, "klutch-bind", "kubeconfig"), undefined);
});

test("a write anywhere else is reported with its resource and place", () => {
  const reports = [
    [
      why("provider", databases.type, "cluster-2-app", "a"),
      /databases\.sim\.klutch\.example cluster-2-app\/a on the provider/,
    ],
    [
      why("provider", zones.type, undefined, "cluster-2-a"),
      /zones\.sim\.klutch\.example \/cluster-2-a on the provider/,
    ],
    [why("provider", zones.type, undefined, "a"), /zones\.sim\.klutch\.example \/a on the provider/],
    [why("provider", secrets, "cluster-1-app", "a"), /secrets cluster-1-app\/a on the provider/],
    [
      why("provider", clusterBindings, "cluster-2", "cluster"),
      /clusterbindings\.klutch\.anynines\.com cluster-2\/cluster/,
    ],
    [why("consumer", secrets, "kube-system", "a"), /secrets kube-system\/a on the consumer/],
    [why("consumer", namespaces, undefined, "new"), /namespaces \/new on the consumer/],
    [
      why("consumer", { ...databases.type, group: "apps" }, "app", "a"),
      /databases\.apps app\/a on the consumer/,
    ],
  ] as const;
  for (const [text, expected] of reports) assert.match(text ?? "nothing was reported", expected);
});
