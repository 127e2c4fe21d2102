import { test } from "node:test";
import { claimResource } from "../src/data-service.ts";
import { type ChangeCase, type ClaimCase, startClaimServer, verdict } from "../src/testing/claim-server.ts";

const claims = claimResource("MariadbInstance");
const server = await startClaimServer("mariadb-claims");

const instance = (spec: object = {}): object => ({
  service: "a9s-mariadb106",
  plan: "mariadb-single-small-ssl",
  ...spec,
});

const cases: readonly ClaimCase[] = [
  ["an instance without a compositionRef", instance(), undefined],
  ["a cluster without TLS", instance({ plan: "mariadb-cluster-big" }), undefined],
  ["a plan that there is not", instance({ plan: "mariadb-cluster-nano" }), /Unsupported plan used/],
  ["a service that there is not", instance({ service: "a9s-mariadb9999" }), /Unsupported service used/],
  ["version 10.11 with TLS", instance({ service: "a9s-mariadb1011" }), undefined],
  [
    "version 10.11 without TLS",
    instance({ service: "a9s-mariadb1011", plan: "mariadb-single-small" }),
    /MariaDB v10\.11 only supports ssl plans/,
  ],
  ["two more databases", instance({ parameters: { databases: ["a", "b"] } }), undefined],
  ["binary logs of no day", instance({ parameters: { binlogExpireDays: 0 } }), /greater than or equal to 1/],
];
for (const [index, [what, spec, message]] of cases.entries())
  test(`${verdict(message)}: ${what}`, () => server.claim(claims, `claim-${index}`, spec, message));

const changes: readonly ChangeCase[] = [
  ["a larger plan", instance(), { plan: "mariadb-single-big-ssl" }, undefined],
  ["from one server to several", instance(), { plan: "mariadb-cluster-small-ssl" }, undefined],
  ["a smaller plan", instance(), { plan: "mariadb-single-nano-ssl" }, /bigger to smaller plan size/],
  ["to a plan without TLS", instance(), { plan: "mariadb-single-big" }, /from Non-SSL to SSL/],
  [
    "from several servers to one",
    instance({ plan: "mariadb-cluster-small-ssl" }),
    { plan: "mariadb-single-big-ssl" },
    /Migration from replicated to single/,
  ],
  ["another version", instance(), { service: "a9s-mariadb1011" }, /Service is an immutable field/],
  [
    "everything at once, of which each reason is reported",
    instance(),
    { service: "a9s-mariadb1011", plan: "mariadb-single-small" },
    /(?=[^]*only supports ssl plans)(?=[^]*from Non-SSL to SSL)(?=[^]*Service is an immutable field)/,
  ],
];
for (const [index, change] of changes.entries())
  test(`${verdict(change[3])}: a change to ${change[0]}`, () =>
    server.change(claims, `change-${index}`, change));
