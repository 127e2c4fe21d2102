/** Rights that come and go, and an API server that does not say. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterBinding } from "@klutch/api";
import { VirtualClock } from "@klutch/kube-testing";
import { silentLogger } from "@klutch/telemetry";
import type { ControllerContext } from "../controller-context.ts";
import { WithdrawnRights } from "./withdrawn-rights.ts";

const binding = (...conditions: readonly object[]): ClusterBinding =>
  ({
    metadata: { namespace: "tenant", name: "cluster" },
    status: { conditions },
  }) as unknown as ClusterBinding;
const call = { signal: new AbortController().signal, logger: silentLogger };

function start(isGranted: () => Promise<boolean>): {
  readonly rights: WithdrawnRights;
  readonly clock: VirtualClock;
} {
  const clock = new VirtualClock();
  const names = ["databases", "queues"];
  const exports = names.map((plural) => ({
    metadata: { name: `${plural}.example.org` },
    spec: { group: "example.org", names: { plural } },
  }));
  const context = {
    clock,
    caches: { exports: { byIndex: () => exports } },
    exportTemplates: {
      template: (_group: string, resource: string) =>
        resource === "queues" ? undefined : { metadata: { namespace: "default", name: resource } },
    },
    isGranted,
  } as unknown as ControllerContext;
  return { rights: new WithdrawnRights(context), clock };
}

test("withdrawn rights are seen within five minutes, a failed look changes nothing, and the condition ends by True", async () => {
  let answer: () => Promise<boolean> = () => Promise.resolve(true);
  const { rights, clock } = start(() => answer());
  assert.deepEqual(await rights.judge(binding(), call), []);
  answer = () => Promise.resolve(false);
  assert.deepEqual(await rights.judge(binding(), call), []);
  await clock.advance(300_000);
  const [told] = await rights.judge(binding(), call);
  assert.deepEqual([told?.type, told?.status, told?.reason], ["Authorized", "False", "RightsWithdrawn"]);
  assert.match(
    told?.message ?? "",
    /bound databases\.example\.org here/,
    "an API that is not offered is not named",
  );
  assert.deepEqual(rights.count(), [{ labels: {}, value: 1 }]);
  answer = () => Promise.reject(new Error("down"));
  await clock.advance(300_000);
  assert.equal((await rights.judge(binding(), call))[0]?.reason, "RightsWithdrawn");
  answer = () => Promise.resolve(true);
  rights.forget("tenant");
  assert.deepEqual(rights.count(), [{ labels: {}, value: 0 }]);
  assert.deepEqual(await rights.judge(binding(told ?? {}), call), [{ type: "Authorized", status: "True" }]);
});

test("where everyone may bind everything, nothing is said", async () => {
  const { rights } = start(undefined as never);
  assert.deepEqual(await rights.judge(binding(), call), []);
});
