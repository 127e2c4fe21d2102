import assert from "node:assert/strict";
import { test } from "node:test";
import { type DynamicObject, secrets } from "@klutch/kube-core";
import { fakeClient } from "@klutch/kube-testing";
import { ApiError } from "./errors.ts";
import { findOrCreate } from "./find-or-create.ts";

const ref = { namespace: "klutch-bind", name: "key" };
const secret = (value: string): DynamicObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: ref,
  data: { value },
});
const never = (): never => assert.fail("nothing is to be made");
const refusal = (reason: string, status: number): ApiError =>
  new ApiError({ status, reason, message: reason });

test("an existing object is returned as it is, and nothing is created", async () => {
  const client = fakeClient({ find: () => Promise.resolve(secret("present")) });
  assert.deepEqual(await findOrCreate(client, secrets, ref, never), secret("present"));
});

test("a missing object is created once", async () => {
  const made: DynamicObject[] = [];
  const client = fakeClient({
    find: () => Promise.resolve(undefined),
    create: (_type, object) => {
      made.push(object);
      return Promise.resolve(object);
    },
  });
  assert.deepEqual(await findOrCreate(client, secrets, ref, () => secret("new")), secret("new"));
  assert.equal(made.length, 1);
});

test("of two that make it at the same time the later one gets what the first one made", async () => {
  const client = fakeClient({
    find: () => Promise.resolve(undefined),
    create: () => Promise.reject(refusal("AlreadyExists", 409)),
    get: () => Promise.resolve(secret("first")),
  });
  assert.deepEqual(await findOrCreate(client, secrets, ref, () => secret("second")), secret("first"));
});

test("a refusal does not count as an existing object", async () => {
  const client = fakeClient({
    find: () => Promise.resolve(undefined),
    create: () => Promise.reject(refusal("Forbidden", 403)),
  });
  await assert.rejects(
    findOrCreate(client, secrets, ref, () => secret("new")),
    ({ message }: Error) => message.includes("Forbidden"),
  );
});
