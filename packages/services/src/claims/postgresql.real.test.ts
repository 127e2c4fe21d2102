import { test } from "node:test";
import { claimResource } from "../data-service.ts";
import { type ClaimCase, startClaimServer, verdict } from "../testing/claim-server.ts";
import { checkCombinations, checkPlanChanges, planTable, type PlanChanges } from "../testing/plan-table.ts";

const claims = claimResource("PostgresqlInstance");
const server = await startClaimServer("postgresql-claims");

const instance = (spec: object = {}): object => ({
  service: "a9s-postgresql17",
  plan: "postgresql-single-small",
  ...spec,
});
const a9s = { compositionRef: { name: "a9s-postgresql" } };
const a8s = { compositionRef: { name: "a8s-postgresql" } };
const inCluster = (spec: object = {}): object => instance({ ...a8s, service: "a9s-postgresql13", ...spec });

const cases: readonly ClaimCase[] = [
  ["an instance without a compositionRef", instance(), undefined],
  ["an instance with a compositionRef", instance(a9s), undefined],
  ["a large replicated instance", instance({ ...a9s, plan: "postgresql-replica-big-ssl" }), undefined],
  [
    "an unknown plan",
    instance({ plan: "postgresql-replica-nano" }),
    /spec\.plan: .*Unsupported plan used for postgresql: spec\.plan is "postgresql-replica-nano"; possible: postgresql-single-nano, /,
  ],
  [
    "an unknown service",
    instance({ service: "a9s-postgresql9" }),
    /spec\.service: .*Unsupported service used for postgresql: spec\.service is "a9s-postgresql9"; possible: a9s-postgresql13, /,
  ],
  [
    "a parameter of the other PostgreSQL",
    instance({ ...a9s, parameters: { sslCiphers: "HIGH" } }),
    /parameters\.sslCiphers is not supported for a9s-postgresql/,
  ],
  ["a region", instance({ region: "eu-1" }), undefined],
  ["a region in capitals", instance({ region: "EU-1" }), /spec\.region: .*should match/],
  [
    "a region of an instance in the cluster",
    inCluster({ region: "eu-1" }),
    /region is not supported for a8s-postgresql/,
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
  ["where it is reached from, for one in the cluster", inCluster({ expose: "Internal" }), undefined],
  ["an instance in the cluster that says no more than it must", inCluster(), undefined],
  ["a replicated one in the cluster", inCluster({ plan: "postgresql-replica-nano" }), undefined],
  ["a plan that is only in the cluster", inCluster({ plan: "postgresql-replica-medium" }), undefined],
  ["a service that is only in the cluster", inCluster({ service: "a9s-postgresql14" }), undefined],
  [
    "every parameter that one in the cluster has",
    inCluster({
      parameters: {
        maxConnections: 50,
        tempFileLimit: -1,
        trackIoTiming: "on",
        archiveTimeout: 60,
        statementTimeout: 0,
        walWriterDelay: 200,
        maxLocksPerTransaction: 10,
        maxReplicationSlots: 0,
        maxWalSenders: 0,
        synchronousCommit: "local",
        sslCiphers: "HIGH",
        sslMinProtocolVersion: "TLSv1.2",
        clientMinMessages: "LOG",
        logMinMessages: "PANIC",
        logMinErrorStatement: "INFO",
        logStatement: "ddl",
        logErrorVerbosity: "TERSE",
      },
    }),
    undefined,
  ],
  ...(
    [
      ["dataChecksums", "enabled"],
      ["effectiveCacheSize", "4GB"],
      ["workMem", "4MB"],
      ["maintenanceWorkMem", "64MB"],
      ["idleInTransactionSessionTimeout", 0],
      ["rolePrivileges", ["CREATEDB"]],
      ["walLevelLogical", true],
    ] as const
  ).map(
    ([name, value]): ClaimCase => [
      `${name} in the cluster`,
      inCluster({ parameters: { [name]: value } }),
      new RegExp(
        `spec\\.parameters\\.${name}: .*parameters\\.${name} is not supported for a8s-postgresql: remove spec\\.parameters\\.${name}$`,
      ),
    ],
  ),
  ...["postgresql-single-small-ssl", "postgresql-single-nano-bionic", "postgresql-single-large"].map(
    (plan): ClaimCase => [
      `the plan ${plan} in the cluster`,
      inCluster({ plan }),
      new RegExp(
        `Unsupported plan used for postgresql: spec\\.plan is "${plan}"; possible with a8s-postgresql: postgresql-single-nano, postgresql-single-small, postgresql-single-medium, `,
      ),
    ],
  ),
  [
    "a service that is not in the cluster",
    inCluster({ service: "a9s-postgresql15" }),
    /Unsupported service used for postgresql: spec\.service is "a9s-postgresql15"; possible with a8s-postgresql: a9s-postgresql13, a9s-postgresql14$/,
  ],
  [
    "a plan of the cluster at the broker",
    instance({ ...a9s, plan: "postgresql-single-medium" }),
    /Unsupported plan used for postgresql: spec\.plan is "postgresql-single-medium"; possible: /,
  ],
  [
    "a service of the cluster at the broker",
    instance({ service: "a9s-postgresql14" }),
    /Unsupported service used for postgresql: spec\.service is "a9s-postgresql14"; possible: a9s-postgresql13, a9s-postgresql15, a9s-postgresql17$/,
  ],
  ...[{}, a9s].map(
    (made): ClaimCase => [
      `where it is reached from, with ${JSON.stringify(made)}`,
      instance({ ...made, expose: "LoadBalancer" }),
      /spec\.expose: .*expose is not supported for a9s-postgresql: remove spec\.expose$/,
    ],
  ),
  ["an unknown exposure", instance({ expose: "Everywhere" }), /Unsupported value: "Everywhere"/],
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

const inClusterShapes = planTable(`
                 single-nano  single-small  single-medium  single-big  replica-nano  replica-small  replica-medium  replica-big
  single-nano    .            .             .              .           .             .              .               .
  single-small   D            .             .              .           D             .              .               .
  single-medium  D            D             .              .           D             D              .               .
  single-big     D            D             D              .           D             D              D               .
  replica-nano   C            C             C              C           .             .              .               .
  replica-small  DC           C             C              C           D             .              .               .
  replica-medium DC           DC            C              C           D             D              .               .
  replica-big    DC           DC            DC             C           D             D              D               .
`);
const bySize = ["nano", "small", "medium", "big"];
const inClusterChanges: PlanChanges = {
  type: claims,
  service: "a9s-postgresql14",
  plans: ["single", "replica"].flatMap((shape) => bySize.map((size) => `postgresql-${shape}-${size}`)),
  verdicts: (from, to) => inClusterShapes(from.slice("postgresql-".length), to.slice("postgresql-".length)),
  messages: { D: changes.messages["D"] ?? "", C: changes.messages["C"] ?? "" },
  more: a8s,
};
for (const plan of inClusterChanges.plans)
  test(`what an instance in the cluster with the plan ${plan} may become`, () =>
    checkPlanChanges(server, plan, inClusterChanges));

test("an instance in the cluster stays there, and one at the broker does too, whatever plan both have", async () => {
  const both = { service: "a9s-postgresql13", plan: "postgresql-single-small" };
  for (const [index, [before, after]] of [
    [{ ...both, ...a8s }, a9s],
    [{ ...both, ...a8s }, { compositionRef: null }],
    [{ ...both, ...a9s }, a8s],
    [both, a8s],
  ].entries())
    await server.change(claims, `switched-${index}`, [
      "another Composition",
      before ?? {},
      after ?? {},
      /spec\.compositionRef: .*CompositionRef is an immutable field/,
    ]);
});

const regions = [
  ["another region", { region: "eu-1" }, "eu-2", '"eu-1" and cannot become "eu-2"'],
  ["a region of an instance without", {}, "eu-1", 'unset and cannot become "eu-1"'],
  ["no region", { region: "eu-1" }, null, '"eu-1" and cannot become unset'],
] as const;
for (const [index, [what, before, region, words]] of regions.entries())
  test(`an instance stays in its region: ${what} is refused`, () =>
    server.change(claims, `region-${index}`, [
      what,
      instance(before),
      { region },
      new RegExp(
        `spec\\.region: .*Region is an immutable field: it is ${words}, because an instance stays at its broker; create another claim`,
      ),
    ]));

test("the service of an instance in the cluster cannot be changed", () =>
  server.change(claims, "change-in-cluster", [
    "another version",
    inCluster(),
    { service: "a9s-postgresql14" },
    /Service is an immutable field: it is "a9s-postgresql13" and cannot become "a9s-postgresql14"/,
  ]));

const onlyOld = "Bionic plans are only supported by a9s PostgreSQL 13";
const combinations = ["a9s-postgresql13", "a9s-postgresql15", "a9s-postgresql17"].flatMap((service) =>
  [...parts].map(([plan, [, variant]]) => {
    const isRefused = variant.includes("bionic") && service !== "a9s-postgresql13";
    return [service, plan, isRefused ? onlyOld : undefined] as const;
  }),
);

test("which service has which plans", () => checkCombinations(server, claims, combinations));
