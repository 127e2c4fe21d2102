import { test } from "node:test";
import { claimResource } from "../src/data-service.ts";
import { type ClaimCase, startClaimServer, verdict } from "../src/testing/claim-server.ts";
import {
  checkCombinations,
  checkPlanChanges,
  planTable,
  type PlanChanges,
} from "../src/testing/plan-table.ts";

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
      /expose is not supported for a9s-postgresql; remove spec\.expose/,
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

test("the service of an instance cannot be changed", () =>
  server.change(claims, "change", [
    "another version",
    instance(),
    { service: "a9s-postgresql15" },
    /Service is an immutable field: it is "a9s-postgresql17" and cannot become "a9s-postgresql15"/,
  ]));

/** Made from the rules of the existing definitions, not from ours. */
const shapes = planTable(`
                single-nano  single-small  single-big  replica-small  replica-big
  single-nano   .            .             .           .              .
  single-small  D            .             .           .              .
  single-big    D            D             .           D              .
  replica-small DC           C             C           .              .
  replica-big   DC           DC            C           D              .
`);
const variants = planTable(`
              plain  bionic  ssl  ssl-bionic
  plain       .      B       S    SB
  bionic      B      .       SB   S
  ssl         S      SB      .    B
  ssl-bionic  SB     S       B    .
`);
const shapesOf = ["single-nano", "single-small", "single-big", "replica-small", "replica-big"];
const variantsOf = ["plain", "bionic", "ssl", "ssl-bionic"];
const nameOf = (shape: string, variant: string): string =>
  `postgresql-${shape}${variant === "plain" ? "" : `-${variant}`}`;
const parts = new Map<string, readonly [shape: string, variant: string]>(
  shapesOf.flatMap((shape) =>
    variantsOf.map((variant) => [nameOf(shape, variant), [shape, variant]] as const),
  ),
);
const partsOf = (plan: string): readonly [shape: string, variant: string] => parts.get(plan) ?? ["", ""];

const changes: PlanChanges = {
  type: claims,
  service: "a9s-postgresql13",
  plans: [...parts.keys()],
  verdicts(from, to) {
    const [[shape, variant], [nextShape, nextVariant]] = [partsOf(from), partsOf(to)];
    return shapes(shape, nextShape) + variants(variant, nextVariant);
  },
  messages: {
    D: "Transition from bigger to smaller plan size is not supported",
    C: "Migration from clustered to single Data Service Instance is not supported",
    S: "Plan migrations not possible from Non-SSL to SSL and SSL to Non-SSL",
    B: "Plan migrations not possible from Non-Bionic to Bionic and Bionic to Non-Bionic",
  },
};
for (const plan of changes.plans)
  test(`what an instance with the plan ${plan} may become`, () => checkPlanChanges(server, plan, changes));

const onlyOld = "Bionic plans are only supported by a9s PostgreSQL 13";
const combinations = ["a9s-postgresql13", "a9s-postgresql15", "a9s-postgresql17"].flatMap((service) =>
  [...parts].map(([plan, [, variant]]) => {
    const isRefused = variant.includes("bionic") && service !== "a9s-postgresql13";
    return [service, plan, isRefused ? onlyOld : undefined] as const;
  }),
);

test("which service has which plans", () => checkCombinations(server, claims, combinations));
