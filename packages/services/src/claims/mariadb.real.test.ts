import { test } from "node:test";
import { claimResource } from "../data-service.ts";
import { type ClaimCase, startClaimServer, verdict } from "../testing/claim-server.ts";
import { checkCombinations, checkPlanChanges, planTable, type PlanChanges } from "../testing/plan-table.ts";

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
  ["an unknown plan", instance({ plan: "mariadb-cluster-nano" }), /Unsupported plan used/],
  ["an unknown service", instance({ service: "a9s-mariadb9999" }), /Unsupported service used/],
  ["two more databases", instance({ parameters: { databases: ["a", "b"] } }), undefined],
  [
    "binary logs of no day",
    instance({ parameters: { binlogExpireDays: 0 } }),
    /Must be greater than or equal to 1: it is 0$/,
  ],
];
for (const [index, [what, spec, message]] of cases.entries())
  test(`${verdict(message)}: ${what}`, () => server.claim(claims, `claim-${index}`, spec, message));

test("everything at once, of which each reason is reported", () =>
  server.change(claims, "change", [
    "everything at once",
    instance(),
    { service: "a9s-mariadb1011", plan: "mariadb-single-small" },
    /(?=[^]*only supports ssl plans)(?=[^]*from Non-SSL to SSL)(?=[^]*Service is an immutable field)/,
  ]));

/** Made from the rules of the existing definitions, not from ours. */
const shapes = planTable(`
                single-nano  single-small  single-big  cluster-small  cluster-big
  single-nano   .            .             .           .              .
  single-small  D            .             .           .              .
  single-big    D            D             .           D              .
  cluster-small DC           C             C           .              .
  cluster-big   DC           DC            C           D              .
`);
const shapesOf = ["single-nano", "single-small", "single-big", "cluster-small", "cluster-big"];
const parts = new Map<string, readonly [shape: string, variant: string]>(
  shapesOf.flatMap((shape) =>
    ["", "-ssl"].map((variant) => [`mariadb-${shape}${variant}`, [shape, variant]] as const),
  ),
);
const partsOf = (plan: string): readonly [shape: string, variant: string] => parts.get(plan) ?? ["", ""];

const changes: PlanChanges = {
  type: claims,
  service: "a9s-mariadb106",
  plans: [...parts.keys()],
  verdicts(from, to) {
    const [[shape, variant], [nextShape, nextVariant]] = [partsOf(from), partsOf(to)];
    return shapes(shape, nextShape) + (variant === nextVariant ? "" : "S");
  },
  messages: {
    D: "Transition from bigger to smaller plan size is not supported",
    C: "Migration from replicated to single Data Service Instance is not supported",
    S: "Plan migrations not possible from Non-SSL to SSL and SSL to Non-SSL",
  },
};
for (const plan of changes.plans)
  test(`what an instance with the plan ${plan} may become`, () => checkPlanChanges(server, plan, changes));

const onlySsl = "MariaDB v10.11 only supports ssl plans";
const combinations = ["a9s-mariadb106", "a9s-mariadb1011"].flatMap((service) =>
  [...parts].map(([plan, [, variant]]) => {
    const isRefused = variant === "" && service === "a9s-mariadb1011";
    return [service, plan, isRefused ? onlySsl : undefined] as const;
  }),
);

test("which service has which plans", () => checkCombinations(server, claims, combinations));
