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
const a8s = { compositionRef: { name: "a8s-postgresql" } };

const cases: readonly ClaimCase[] = [
  ["an instance without a compositionRef", instance(), undefined],
  ["an instance with a compositionRef", instance(a9s), undefined],
  ["a large replicated instance", instance({ ...a9s, plan: "postgresql-replica-big-ssl" }), undefined],
  [
    "a plan that there is not",
    instance({ plan: "postgresql-replica-nano" }),
    /spec\.plan: .*Unsupported plan used for postgresql: spec\.plan is "postgresql-replica-nano"; possible: postgresql-single-nano, /,
  ],
  [
    "a service that there is not",
    instance({ service: "a9s-postgresql9" }),
    /spec\.service: .*Unsupported service used for postgresql: spec\.service is "a9s-postgresql9"; possible: a9s-postgresql13, /,
  ],
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
  [
    "a limit of nothing",
    instance({ parameters: { tempFileLimit: 0 } }),
    /Must be either -1 \(no limit\) or a limit specified in kilobytes: it is 0/,
  ],
  ...[
    ["maxConnections", -5, "greater than or equal to 1"],
    ["maxConnections", 0, "greater than or equal to 1"],
    ["archiveTimeout", -1, "greater than or equal to 0"],
    ["statementTimeout", -1, "greater than or equal to 0"],
    ["idleInTransactionSessionTimeout", -60, "greater than or equal to 0"],
    ["walWriterDelay", 0, "greater than 0"],
    ["maxReplicationSlots", -1, "greater than or equal to 0"],
    ["maxWalSenders", -1, "greater than or equal to 0"],
  ].map(
    ([name, value, message]): ClaimCase => [
      `${name} of ${value}`,
      instance({ parameters: { [String(name)]: value } }),
      new RegExp(`spec\\.parameters\\.${name}: .*Must be ${message}: it is ${value}$`),
    ],
  ),
  [
    "the least of each number",
    instance({
      parameters: {
        maxConnections: 1,
        archiveTimeout: 0,
        statementTimeout: 0,
        idleInTransactionSessionTimeout: 0,
        walWriterDelay: 1,
        maxReplicationSlots: 0,
        maxWalSenders: 0,
      },
    }),
    undefined,
  ],
  ["where it is reached from, for one in the cluster", instance({ ...a8s, expose: "Internal" }), undefined],
  ...[{}, a9s].map(
    (made): ClaimCase => [
      `where it is reached from, with ${JSON.stringify(made)}`,
      instance({ ...made, expose: "LoadBalancer" }),
      /expose is not supported for a9s-postgresql/,
    ],
  ),
  ["an exposure that there is not", instance({ expose: "Everywhere" }), /Unsupported value: "Everywhere"/],
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
    /Migration from clustered to single/,
  ],
  ["another version", instance(), { service: "a9s-postgresql15" }, /Service is an immutable field/],
];
for (const [index, change] of changes.entries())
  test(`${verdict(change[3])}: a change to ${change[0]}`, () =>
    server.change(claims, `change-${index}`, change));
