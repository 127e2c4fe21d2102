import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeOfferedApi } from "./offered-api.ts";

const wanted = { group: "x.test", resource: "widgets" };
const spec = { group: "x.test", names: { kind: "Widget", plural: "widgets" }, informerScope: "Cluster" };
const claim = { group: "", resource: "secrets", version: "v1", selector: { owner: "Provider" } };
const decode = (change: object): unknown =>
  decodeOfferedApi({ spec: { ...spec, permissionClaims: [claim], ...change } }, wanted);

test("an export of the API that was asked for is read; what Go writes as null counts as absent", () => {
  assert.deepEqual(decode({}), {
    name: "widgets.x.test",
    ...wanted,
    informerScope: "Cluster",
    permissionClaims: [claim],
  });
  const empty = { name: "widgets.x.test", ...wanted, informerScope: "Namespaced", permissionClaims: [] };
  assert.deepEqual(decode({ permissionClaims: null, informerScope: 7 }), empty);
});

test("an export of anything else, or of the wrong types, is refused by field", () => {
  for (const [change, message] of [
    [{ group: "" }, /spec\.group: is missing/],
    [{ group: "*" }, /not a DNS name/],
    [{ names: { plural: "pods" } }, /pods\.x\.test, which was not asked for/],
    [{ names: "pods" }, /spec\.names: is not an object/],
    [{ permissionClaims: {} }, /permissionClaims: is not a list/],
    [{ permissionClaims: [7] }, /permissionClaims\[0\]: is not an object/],
    [{ permissionClaims: [{ resource: "secrets" }] }, /permissionClaims\[0\]\.version/],
    [{ permissionClaims: [{ ...claim, group: 1 }] }, /permissionClaims\[0\]\.group/],
    [{ permissionClaims: [{ ...claim, selector: { owner: "Anybody" } }] }, /selector\.owner/],
    [{ permissionClaims: Array.from({ length: 21 }, () => claim) }, /at most 20/],
    [{ permissionClaims: [{ ...claim, selector: { names: ["a".repeat(20_000)] } }] }, /longer than/],
  ] as const) {
    assert.throws(() => decode(change), { code: "Wire", message });
  }
  assert.throws(() => decodeOfferedApi("export", wanted), { message: /is not an object/ });
});

test("a spec that is too deep to walk through is refused, not walked through", () => {
  let deep: unknown = {};
  for (let level = 0; level < 50_000; level++) deep = { a: deep };
  assert.throws(() => decode({ deep }), { code: "Wire", message: /more than 128 levels/ });
});

test("a claim's names may be any text here: they are judged with the reason, not refused as malformed", () => {
  assert.doesNotThrow(() => decode({ permissionClaims: [{ ...claim, group: "*", resource: "*" }] }));
});
