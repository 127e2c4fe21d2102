import { test } from "node:test";
import { claimResource } from "../data-service.ts";
import { type ChangeCase, type ClaimCase, startClaimServer, verdict } from "../testing/claim-server.ts";

const claims = claimResource("MessagingInstance");
const server = await startClaimServer("messaging-claims");

const instance = (spec: object = {}): object => ({
  service: "a9s-messaging4",
  plan: "messaging-single-small-ssl",
  ...spec,
});

const cases: readonly ClaimCase[] = [
  ["an instance without a compositionRef", instance(), undefined],
  ["an unknown plan", instance({ plan: "messaging-cluster-nano" }), /Unsupported plan used/],
  ["an unknown service", instance({ service: "a9s-other" }), /Unsupported service used/],
  ["version 4 without TLS", instance({ plan: "messaging-single-small" }), undefined],
  ["half an hour for a message", instance({ parameters: { consumerTimeout: 1800000 } }), undefined],
  [
    "less than half an hour",
    instance({ parameters: { consumerTimeout: 1799999 } }),
    /Must be greater than or equal to 1800000/,
  ],
  ["a version of TLS", instance({ parameters: { tlsProtocols: ["tlsv1.3"] } }), undefined],
  [
    "a version of TLS in other letters",
    instance({ parameters: { tlsProtocols: ["TLSv1.3"] } }),
    /Unsupported value: "TLSv1.3"/,
  ],
];
for (const [index, [what, spec, message]] of cases.entries())
  test(`${verdict(message)}: ${what}`, () => server.claim(claims, `claim-${index}`, spec, message));

const changes: readonly ChangeCase[] = [
  ["a larger plan", instance(), { plan: "messaging-single-big-ssl" }, undefined],
  ["several servers", instance(), { plan: "messaging-cluster-small-ssl" }, undefined],
  ["a smaller plan", instance(), { plan: "messaging-single-nano-ssl" }, /bigger to smaller plan size/],
  ["a plan without TLS", instance(), { plan: "messaging-single-big" }, /from Non-SSL to SSL/],
  [
    "a single server",
    instance({ plan: "messaging-cluster-small-ssl" }),
    { plan: "messaging-single-big-ssl" },
    /from clustered to single/,
  ],
  ["another version", instance(), { service: "a9s-messaging313" }, /Service is an immutable field/],
];
for (const [index, change] of changes.entries())
  test(`${verdict(change[3])}: a change to ${change[0]}`, () =>
    server.change(claims, `change-${index}`, change));
