import { test } from "node:test";
import { claimResource } from "../data-service.ts";
import { type ChangeCase, type ClaimCase, startClaimServer, verdict } from "../testing/claim-server.ts";

const claims = claimResource("KeyvalueInstance");
const server = await startClaimServer("keyvalue-claims");

const instance = (spec: object = {}): object => ({
  service: "a9s-keyvalue8",
  plan: "keyvalue-single-small-ssl",
  ...spec,
});

const cases: readonly ClaimCase[] = [
  ["an instance without a compositionRef", instance(), undefined],
  ["an unknown plan", instance({ plan: "keyvalue-replica-nano-ssl" }), /Unsupported plan used/],
  ["an unknown service", instance({ service: "a9s-other" }), /Unsupported service used/],
  ["snapshots", instance({ parameters: { snapshot: "['save 900 1','save 300 10']" } }), undefined],
  ["no snapshots", instance({ parameters: { snapshot: "[]" } }), undefined],
  ["snapshots in other words", instance({ parameters: { snapshot: "save 900 1" } }), /should match/],
  ["memory of the plan", instance({ parameters: { maxmemory: "dynamic" } }), undefined],
  ["memory with a unit", instance({ parameters: { maxmemory: "512mb" } }), undefined],
  ["memory in words", instance({ parameters: { maxmemory: "much" } }), /should match/],
  [
    "a negative number of clients",
    instance({ parameters: { maxclients: -1 } }),
    /Must be greater than or equal to 0/,
  ],
  ["events of keys", instance({ parameters: { notifyKeyspaceEvents: "KEA" } }), undefined],
  [
    "events of neither keys nor events",
    instance({ parameters: { notifyKeyspaceEvents: "gx" } }),
    /should match/,
  ],
  [
    "a parameter of replicas on a single server",
    instance({ parameters: { failoverTimeout: 1 } }),
    /parameters\.failoverTimeout is only supported for clustered plans/,
  ],
  [
    "a parameter of replicas on replicas",
    instance({
      plan: "keyvalue-replica-small-ssl",
      parameters: { failoverTimeout: 1, minReplicasMaxLag: 5 },
    }),
    undefined,
  ],
  [
    "replicas that may never lag",
    instance({ plan: "keyvalue-replica-small-ssl", parameters: { minReplicasMaxLag: 0 } }),
    /Must be greater than 0/,
  ],
];
for (const [index, [what, spec, message]] of cases.entries())
  test(`${verdict(message)}: ${what}`, () => server.claim(claims, `claim-${index}`, spec, message));

const changes: readonly ChangeCase[] = [
  ["a larger plan", instance(), { plan: "keyvalue-single-big-ssl" }, undefined],
  ["a smaller plan", instance(), { plan: "keyvalue-single-nano-ssl" }, /bigger to smaller plan size/],
  ["several servers", instance(), { plan: "keyvalue-replica-small-ssl" }, /from single to clustered/],
  [
    "a single server",
    instance({ plan: "keyvalue-replica-small-ssl" }),
    { plan: "keyvalue-single-big-ssl" },
    /from clustered to single/,
  ],
];
for (const [index, change] of changes.entries())
  test(`${verdict(change[3])}: a change to ${change[0]}`, () =>
    server.change(claims, `change-${index}`, change));
