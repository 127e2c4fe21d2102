import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterKeySecretObject, publicKeyOf } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { type FakeAnswers, fakeClient } from "@klutch/kube-testing";
import { ensureClusterKey } from "./cluster-key.ts";

const namespace = "klutch-bind";
const { signal } = new AbortController();
const ensureWith = (answers: FakeAnswers): Promise<string | undefined> =>
  ensureClusterKey({ side: "consumer", client: fakeClient(answers) }, namespace, signal);

test("an existing key stays, and without one a new one is kept", async () => {
  const kept = clusterKeySecretObject(namespace, "the key");
  assert.equal(await ensureWith({ find: () => Promise.resolve(kept) }), "the key");
  const made: DynamicObject[] = [];
  const key = await ensureWith({
    find: () => Promise.resolve(undefined),
    create: (_type, object) => {
      made.push(object);
      return Promise.resolve(object);
    },
  });
  assert.ok(key !== undefined && publicKeyOf(key) !== undefined);
  assert.deepEqual(made, [clusterKeySecretObject(namespace, key)]);
});

test("a Secret without a key gives none, so that no key is offered that no one keeps", async () => {
  const { data: _data, ...empty } = clusterKeySecretObject(namespace, "");
  assert.equal(await ensureWith({ find: () => Promise.resolve(empty) }), undefined);
});
