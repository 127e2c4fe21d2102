import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type ClusterConfig, isForbidden, isUnauthorized } from "@klutch/kube";
import { type DynamicObject, roleBindings, serviceAccounts } from "@klutch/kube-core";
import { Informer } from "@klutch/kube-runtime";
import { waitFor } from "@klutch/kube-testing";
import {
  clientOf,
  type Stage,
  startGateway,
  startStage,
  untilShared,
  widget,
  widgets,
} from "./testing/stage.ts";

let stage: Stage;
let red: ClusterConfig;
const stack = new AsyncDisposableStack();

before(async () => {
  stage = stack.use(await startStage());
  red = await stage.tenant("red");
});
after(() => stack.disposeAsync());

test("a client goes on when the gateway comes back on the same address, and misses nothing", async () => {
  const first = await startGateway(stage);
  await using client = clientOf(red, first);
  await untilShared(first, client, "red");
  const names = new Set<string>();
  await using informer = new Informer({ client, type: widgets, namespace: "red", idleTimeoutMs: 5_000 });
  informer.onChange(({ type, object }) => {
    if (type !== "deleted") names.add(object.metadata.name ?? "");
  });
  informer.start();
  await informer.whenSynced();
  await first[Symbol.asyncDispose]();
  await stage.cluster.client.create(widgets, widget("red", "while-away"));
  await using _second = await startGateway(stage, { listen: { host: "127.0.0.1", port: first.port } });
  await waitFor("the change of the outage", () => names.has("while-away"));
  await stage.cluster.client.create(widgets, widget("red", "afterwards"));
  await waitFor("a change after it", () => names.has("afterwards"));
});

test("a watch whose right is withdrawn ends with 403, and one whose account is deleted with 401", async () => {
  const green = await stage.tenant("green");
  await using gateway = await startGateway(stage, { limits: { askEveryMs: 500 }, keepRightsMs: 400 });
  await using client = clientOf(green, gateway);
  const end = async (): Promise<unknown> => {
    const { resourceVersion } = await client.list(widgets, { namespace: "green", resourceVersion: "0" });
    const watch = client.watch(widgets, { namespace: "green", resourceVersion, onOpen: opened.resolve });
    return watch[Symbol.asyncIterator]()
      .next()
      .catch((error: unknown) => error);
  };
  let opened = Promise.withResolvers<void>();
  const binding = await stage.cluster.client.get<DynamicObject>(roleBindings, {
    namespace: "green",
    name: "green",
  });
  const first = end();
  await opened.promise;
  await stage.cluster.client.delete(roleBindings, { namespace: "green", name: "green" });
  assert.ok(isForbidden(await first));
  const { metadata: _metadata, ...rest } = binding;
  await stage.cluster.client.create(roleBindings, {
    ...rest,
    metadata: { namespace: "green", name: "green" },
  });
  opened = Promise.withResolvers<void>();
  // A right counts at once when it is given: this watch is the gateway's.
  await waitFor("the right", () => client.list(widgets, { namespace: "green", resourceVersion: "0" }));
  const second = end();
  await opened.promise;
  await stage.cluster.client.delete(serviceAccounts, { namespace: "green", name: "green" });
  assert.ok(isUnauthorized(await second));
  await assert.rejects(client.list(widgets, { namespace: "green" }), isUnauthorized);
});
