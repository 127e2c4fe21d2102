import assert from "node:assert/strict";
import { test } from "node:test";
import {
  backendOriginAnnotation,
  clusterKeySecretObject,
  newClusterKey,
  renewalUrlAnnotation,
} from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { fakeClient, VirtualClock } from "@klutch/kube-testing";
import { silentLogger } from "@klutch/telemetry";
import { Renewal } from "./renewal.ts";

const namespace = "klutch-bind";
const secretRef = { namespace, name: "kubeconfig-a" };
const key = clusterKeySecretObject(namespace, newClusterKey());
const { signal } = new AbortController();
const backend = "https://backend.example.org";

/** A renewal for a Secret with these annotations; `remembered` are the URLs that it writes there. */
function renewalWith(annotations: Readonly<Record<string, string>>): {
  readonly renewal: Renewal;
  readonly remembered: unknown[];
} {
  const remembered: unknown[] = [];
  const secret: DynamicObject = { apiVersion: "v1", kind: "Secret", metadata: { ...secretRef, annotations } };
  const client = {
    ...fakeClient({ find: () => Promise.resolve(key) }),
    mergePatch: (_type: unknown, _ref: unknown, patch: unknown) => {
      remembered.push(patch);
      return Promise.resolve(secret);
    },
  };
  const options = {
    consumer: { side: "consumer", client },
    secretRef,
    cache: { get: () => secret, wrote: () => undefined },
    runtime: { clock: new VirtualClock(), random: () => 0.5, logger: silentLogger },
    prove: () => Promise.reject(new Error("not asked for")),
  };
  return { renewal: new Renewal(options as never), remembered };
}

for (const [what, annotations, accepted, refused] of [
  [
    "the backend that a person logged in to",
    { [backendOriginAnnotation]: backend, [renewalUrlAnnotation]: "https://vault.internal/renew" },
    `${backend}/klutch/renew`,
    "https://vault.internal/renew",
  ],
  [
    "the first one, where an older plugin noted none",
    { [renewalUrlAnnotation]: `${backend}/renew` },
    `${backend}/other/renew`,
    `${backend}:8443/renew`,
  ],
] as const) {
  test(`a renewal URL counts only at the origin of ${what}`, async () => {
    const { renewal, remembered } = renewalWith(annotations);
    assert.equal(await renewal.offer(refused, signal), undefined);
    assert.deepEqual(remembered, []);
    assert.match(renewal.problem ?? "", new RegExp(`names ${refused} to renew it, which is not the backend`));
    assert.notEqual(await renewal.offer(accepted, signal), undefined);
    assert.deepEqual(remembered, [{ metadata: { annotations: { [renewalUrlAnnotation]: accepted } } }]);
    assert.equal(renewal.problem, undefined);
  });
}

test("without any origin the first URL is remembered, as for bindings of older plugins", async () => {
  const { renewal, remembered } = renewalWith({});
  assert.notEqual(await renewal.offer(`${backend}/renew`, signal), undefined);
  assert.equal(remembered.length, 1);
});
