import assert from "node:assert/strict";
import { test } from "node:test";
import { releaseDeletionsAnnotation } from "@klutch/api";
import type { DynamicObject, ObjectMeta } from "@klutch/kube-core";
import { fakeClient, VirtualClock } from "@klutch/kube-testing";
import { DeletedNamespaces, type NamespaceVerdict } from "./deleted-namespaces.ts";

const deletedAt = "2026-01-01T00:00:00Z";
const graceMs = 10_000;
const { signal } = new AbortController();

interface Scene {
  readonly clock: VirtualClock;
  readonly part: DeletedNamespaces;
  /** Judges a deletion in namespace `app`, more than a second after the one before. */
  readonly judge: (releasedAt?: string) => Promise<NamespaceVerdict["state"]>;
}

/** A namespace with this many living claims, of five that make a hold. */
function scene(claims: number, metadata: ObjectMeta = { uid: "u", deletionTimestamp: deletedAt }): Scene {
  const clock = new VirtualClock();
  const find = (): Promise<DynamicObject> =>
    Promise.resolve({ apiVersion: "v1", kind: "Namespace", metadata });
  const part = new DeletedNamespaces({
    consumer: { client: fakeClient({ find }) },
    namespaces: { population: () => claims, onChange: () => ({ [Symbol.dispose]: () => undefined }) },
    clock,
    limit: 5,
    graceMs,
  });
  const judge = async (releasedAt = "1970-01-01T00:00:00Z"): Promise<NamespaceVerdict["state"]> => {
    await clock.advance(1_001);
    return (await part.judge("app", Date.parse(releasedAt), signal)).state;
  };
  return { clock, part, judge };
}

test("few claims are free once all are known, and enough of them are held", async () => {
  for (const [claims, early, later] of [
    [4, "early", "free"],
    [5, "held", "held"],
  ] as const) {
    const { clock, judge } = scene(claims);
    assert.equal(await judge(), early, `${claims} claims`);
    await clock.advance(graceMs);
    assert.equal(await judge(), later, `${claims} claims`);
  }
});

test("claims of an earlier process's hold stay held however few are left, until nothing is held any more", async () => {
  const { clock, part, judge } = scene(1);
  part.resume();
  await clock.advance(graceMs);
  assert.equal(await judge(), "held");
  part.end();
  assert.equal(await judge(), "free");
});

test("a person lets a namespace go by its annotation, or by a release of the API after the deletion", async () => {
  const annotations = { [releaseDeletionsAnnotation]: "true" };
  assert.equal(await scene(5, { deletionTimestamp: deletedAt, annotations }).judge(), "confirmed");
  const { judge } = scene(5);
  assert.equal(await judge("2026-01-01T00:00:00Z"), "held", "it may have been before the deletion");
  assert.equal(await judge("2026-01-01T00:00:01Z"), "confirmed");
});

test("a namespace that lives holds nothing, nor does a limit of zero or a claim without a namespace", async () => {
  assert.equal(await scene(5, { uid: "u" }).judge(), "free");
  const { part } = scene(5);
  assert.deepEqual(await part.judge(undefined, 0, signal), { state: "free" });
});
