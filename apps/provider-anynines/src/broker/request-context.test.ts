import assert from "node:assert/strict";
import { test } from "node:test";
import type { ManagedServiceBinding, ServiceInstance } from "@klutch/api";
import { ExternalError } from "@klutch/crossplane";
import { OsbError } from "@klutch/osb";
import { wantedOf } from "../testing/catalog.ts";
import { bindingContext, instanceContext, withContextHint } from "./request-context.ts";

const labels = { "crossplane.io/claim-name": "one", "crossplane.io/claim-namespace": "team" };

function instance(
  context?: Readonly<Record<string, string>>,
  metadata: object = { labels },
): ServiceInstance {
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    metadata: { name: "one", ...metadata },
    spec: { forProvider: wantedOf({ context }), providerConfigRef: { name: "pg" } },
  };
}

const byNamespace = { kind: "Namespace", clusterID: "c" } as const;

test("by default both GUIDs are sent, and a claim's context cannot replace what the provider adds", () => {
  const guids = { organization_guid: "o", space_guid: "s" };
  const lies = { platform: "cloudfoundry", organization_guid: "other", more: "kept" };
  assert.deepEqual(instanceContext(instance(lies)), {
    organizationGuid: "o",
    spaceGuid: "s",
    context: { platform: "kubernetes", ...guids, more: "kept" },
  });
});

test("with a namespace, the claim's own counts, and neither GUID is sent", () => {
  const context = { platform: "kubernetes", namespace: "team", clusterid: "c" };
  assert.deepEqual(instanceContext(instance(), byNamespace), { context });
  const lies = instance({ namespace: "other", clusterid: "other", platform: "x" });
  assert.deepEqual(instanceContext(lies, byNamespace), { context });
  const binding = { ...instance(), kind: "ServiceBinding" } as unknown as ManagedServiceBinding;
  assert.deepEqual(bindingContext(binding, byNamespace), context);
  assert.equal(bindingContext(binding), undefined);
});

test("a resource without a claim names the namespace itself, or is refused by the field", () => {
  const { context } = instanceContext(instance({ namespace: "mine" }, {}), byNamespace);
  assert.equal(context?.["namespace"], "mine");
  assert.throws(
    () => instanceContext(instance(undefined, {}), byNamespace),
    (error) =>
      error instanceof ExternalError &&
      error.message.startsWith("spec.forProvider.context.namespace is missing; ProviderConfig pg wants"),
  );
});

test("without either, only the context of the spec is sent", () => {
  assert.deepEqual(instanceContext(instance(), { kind: "None" }), { context: undefined });
  assert.deepEqual(instanceContext(instance({ a: "b" }), { kind: "None" }), { context: { a: "b" } });
});

test("only a refusal that names such a field says who decides about it", async () => {
  const hinted = async (status: number, description: string, error = "X"): Promise<OsbError> => {
    const given = new OsbError({ status, error, description, own: true, action: "a" });
    const thrown: unknown = await withContextHint(instance(), undefined, () => Promise.reject(given)).catch(
      (caught: unknown) => caught,
    );
    assert.ok(thrown instanceof OsbError);
    return thrown;
  };
  for (const words of [
    "unknown field organization_guid",
    "spaceGuid: not a GUID",
    "context.clusterid missing",
  ]) {
    const { message, status, own } = await hinted(400, words);
    assert.match(message, /chooses by spec\.context of ProviderConfig pg, now Organization/);
    assert.ok(message.startsWith(`X: ${words}; `));
    assert.deepEqual([status, own], [400, true]);
  }
  for (const [status, words] of [
    [400, "unknown plan"],
    [400, "context deadline exceeded"],
    [500, "space_guid"],
    [401, "space_guid"],
  ] as const)
    assert.equal((await hinted(status, words)).message, `X: ${words}`);
  assert.equal((await hinted(422, "context: bind an app", "RequiresApp")).specified, "RequiresApp");
  const long = await hinted(400, `space_guid ${"x".repeat(1_000)}`);
  assert.ok(long.message.length < 700, "the hint fits into a condition");
  assert.match(long.message, /or neither$/);
});
