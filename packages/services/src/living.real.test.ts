import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResourceType } from "@klutch/kube-core";
import { claimResource } from "./data-service.ts";
import { services } from "./list.ts";
import { startClaimServer } from "./testing/claim-server.ts";

const server = await startClaimServer("living-claims");

const by = (name: string): object => ({ compositionRef: { name } });
const selected = { compositionSelector: { matchLabels: { tier: "gold" } } };

/** Tells whether a living claim with `before` takes the change; an answer is the message of the refusal. */
async function change(
  type: ResourceType,
  name: string,
  { before, patch }: { readonly before: object; readonly patch: object },
): Promise<string> {
  await server.create(type, name, before);
  const request = server.patch(type, name, patch);
  return request.then(
    () => "accepted",
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

const refused = (now: string, then: string): RegExp =>
  new RegExp(
    `spec\\.compositionRef: .*CompositionRef is an immutable field: it is ${now} and cannot become ${then}`,
  );

for (const service of services()) {
  const type = claimResource(service.kind);
  const ours = service.composition;
  const [second] = service.others;
  const other = second?.composition ?? `a8s-${service.type}`;
  // Offering and plan that both have, so that nothing else stands in the way.
  const spec =
    second === undefined
      ? service.examples[0]?.spec
      : {
          service: service.offerings.find((name) => second.offerings.includes(name)),
          plan: service.plans.find((name) => second.plans.includes(name)),
        };

  test(`a living instance of ${service.title} keeps its Composition, or gets the default where it has none`, async () => {
    for (const [index, [had, patch, message]] of (
      [
        [by(other), by(ours), refused(`"${other}"`, `"${ours}"`)],
        [by(ours), by(other), refused(`"${ours}"`, `"${other}"`)],
        [by(other), { compositionRef: null }, refused(`"${other}"`, "unset")],
        [{}, by(other), refused(`"${ours}", the default,`, `"${other}"`)],
        [{}, by(ours), /^accepted$/],
        [{}, { acceptsIncomplete: true }, /^accepted$/],
        [by(other), { acceptsIncomplete: true }, /^accepted$/],
        [by(other), by(other), /^accepted$/],
        [selected, by(other), /^accepted$/],
      ] as const
    ).entries())
      assert.match(await change(type, `living-${index}`, { before: { ...spec, ...had }, patch }), message);
  });
}

for (const [kind, spec] of [
  ["ServiceBinding", { instanceRef: "orders", serviceInstanceType: "postgresql" }],
  ["Backup", { instanceRef: "orders", serviceInstanceType: "postgresql" }],
  ["Restore", { backupRef: "nightly", instanceRef: "orders", serviceInstanceType: "postgresql" }],
] as const) {
  test(`a ${kind} keeps the Composition that it names`, async () => {
    const [ours, other] = [`a9s-${kind.toLowerCase()}`, `a8s-${kind.toLowerCase()}`];
    for (const [index, [had, patch, message]] of (
      [
        [by(other), by(ours), refused(`"${other}"`, `"${ours}"`)],
        [by(ours), { compositionRef: null }, refused(`"${ours}"`, "unset")],
        [{}, by(ours), /^accepted$/],
        [{}, by(other), /^accepted$/],
      ] as const
    ).entries()) {
      const request = { before: { ...spec, ...had }, patch };
      assert.match(await change(claimResource(kind), `living-${index}`, request), message);
    }
  });
}
