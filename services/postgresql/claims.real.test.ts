import { test } from "node:test";
import { claimResource } from "../src/data-service.ts";
import { type ChangeCase, type ClaimCase, startClaimServer, verdict } from "../src/testing/claim-server.ts";

const claims = claimResource("PostgresqlInstance");
const server = await startClaimServer("postgresql-claims");

const instance = (spec: object = {}): object => ({
  service: "a9s-postgresql17",
  plan: "postgresql-single-small",
  ...spec,
});
const a9s = { compositionRef: { name: "a9s-postgresql" } };

const cases: readonly ClaimCase[] = [
  ["an instance without a compositionRef", instance(), undefined],
  ["an instance with a compositionRef", instance(a9s), undefined],
  ["a large replicated instance", instance({ ...a9s, plan: "postgresql-replica-big-ssl" }), undefined],
  ["a plan that there is not", instance({ plan: "postgresql-replica-nano" }), /Unsupported plan used/],
  ["a service that there is not", instance({ service: "a9s-postgresql9" }), /Unsupported service used/],
  [
    "a bionic plan of version 17",
    instance({ plan: "postgresql-single-small-bionic" }),
    /only supported by a9s/,
  ],
  [
    "a bionic plan of version 13",
    instance({ service: "a9s-postgresql13", plan: "postgresql-single-small-bionic" }),
    undefined,
  ],
  [
    "a parameter of the other PostgreSQL",
    instance({ ...a9s, parameters: { sslCiphers: "HIGH" } }),
    /parameters\.sslCiphers is not supported for a9s-postgresql/,
  ],
  ["no limit of temporary files", instance({ parameters: { tempFileLimit: -1 } }), undefined],
  ["a limit of nothing", instance({ parameters: { tempFileLimit: 0 } }), /Must be either -1/],
  [
    "an unknown parameter value",
    instance({ parameters: { logStatement: "some" } }),
    /Unsupported value: "some"/,
  ],
];
for (const [index, [what, spec, message]] of cases.entries())
  test(`${verdict(message)}: ${what}`, () => server.claim(claims, `claim-${index}`, spec, message));

const ssl = "postgresql-single-small-ssl";
const changes: readonly ChangeCase[] = [
  ["a larger plan", instance(), { plan: "postgresql-single-big" }, undefined],
  ["from one server to several", instance(), { plan: "postgresql-replica-small" }, undefined],
  [
    "a smaller plan",
    instance(),
    { plan: "postgresql-single-nano" },
    /bigger to smaller plan size is not supported/,
  ],
  ["to a plan with TLS", instance(), { plan: ssl }, /not possible from Non-SSL to SSL/],
  [
    "to a plan without TLS",
    instance({ plan: ssl }),
    { plan: "postgresql-single-big" },
    /not possible from Non-SSL to SSL/,
  ],
  [
    "from several servers to one",
    instance({ plan: "postgresql-replica-small" }),
    { plan: "postgresql-single-big" },
    /Migration from replicated to single/,
  ],
  ["another version", instance(), { service: "a9s-postgresql15" }, /Service is an immutable field/],
];
for (const [index, change] of changes.entries())
  test(`${verdict(change[3])}: a change to ${change[0]}`, () =>
    server.change(claims, `change-${index}`, change));
