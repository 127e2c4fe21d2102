import { test } from "node:test";
import { claimResource } from "./data-service.ts";
import { startClaimServer } from "./testing/claim-server.ts";
import {
  checkCombinations,
  checkPlanChanges,
  type Combination,
  planTable,
  type Verdicts,
} from "./testing/plan-table.ts";

/** PostgreSQL and MariaDB have tables of their own. */
const server = await startClaimServer("plans");

const messages = {
  D: "Transition from bigger to smaller plan size is not supported",
  C: "Migration from clustered to single Data Service Instance is not supported",
  R: "Migration from replicated to single Data Service Instance is not supported",
  T: "Migration from single to clustered Data Service Instance is not supported",
  S: "Plan migrations not possible from Non-SSL to SSL and SSL to Non-SSL",
  P: "Upgrade functionality for Prometheus plans is not supported",
};

interface Plans {
  readonly kind: string;
  /** All have all plans. */
  readonly services: readonly string[];
  readonly plans: readonly string[];
  readonly verdicts: Verdicts;
}

/** The verdicts of a table that names plans without these ends. */
function between(table: string, start: string, end = ""): Verdicts {
  const verdicts = planTable(table);
  const word = (plan: string): string => plan.slice(start.length, plan.length - end.length);
  return (from, to) => verdicts(word(from), word(to));
}

/** A table of plans that each are there with and without TLS, and never go from one to the other. */
function withAndWithoutTls(table: string, start: string): Verdicts {
  const verdicts = between(table, start);
  const bare = (plan: string): string => plan.replace(/-ssl$/, "");
  return (from, to) =>
    verdicts(bare(from), bare(to)) + (from.endsWith("-ssl") === to.endsWith("-ssl") ? "" : "S");
}

const words = (start: string, all: string, ends: readonly string[]): readonly string[] =>
  all.split(" ").flatMap((word) => ends.map((end) => `${start}${word}${end}`));

/** Made from the rules of the existing definitions, not from ours. */
const all: readonly Plans[] = [
  {
    kind: "KeyvalueInstance",
    services: ["a9s-keyvalue8"],
    plans: words(
      "keyvalue-",
      "single-nano single-small single-medium single-big replica-small replica-medium replica-big",
      ["-ssl"],
    ),
    verdicts: between(
      `                 single-nano single-small single-medium single-big replica-small replica-medium replica-big
        single-nano    .           .            .             .          T             T              T
        single-small   D           .            .             .          T             T              T
        single-medium  D           D            .             .          DT            T              T
        single-big     D           D            D             .          DT            DT             T
        replica-small  DC          C            C             C          .             .              .
        replica-medium DC          DC           C             C          D             .              .
        replica-big    DC          DC           DC            C          D             D              .`,
      "keyvalue-",
      "-ssl",
    ),
  },
  {
    kind: "SearchInstance",
    services: ["a9s-search2"],
    plans: words(
      "search-",
      "single-nano single-small single-medium single-big cluster-small cluster-medium cluster-big",
      ["-ssl"],
    ),
    verdicts: between(
      `                 single-nano single-small single-medium single-big cluster-small cluster-medium cluster-big
        single-nano    .           .            .             .          .             .              .
        single-small   D           .            .             .          .             .              .
        single-medium  D           D            .             .          D             .              .
        single-big     D           D            D             .          D             D              .
        cluster-small  DC          C            C             C          .             .              .
        cluster-medium DC          DC           C             C          D             .              .
        cluster-big    DC          DC           DC            C          D             D              .`,
      "search-",
      "-ssl",
    ),
  },
  {
    kind: "Logme2Instance",
    services: ["a9s-logme2"],
    plans: ["logme-single-small-ssl", "logme-cluster-small-ssl"],
    verdicts: planTable(`
                                logme-single-small-ssl logme-cluster-small-ssl
        logme-single-small-ssl  .                      T
        logme-cluster-small-ssl C                      .`),
  },
  {
    kind: "MessagingInstance",
    services: ["a9s-messaging310", "a9s-messaging312", "a9s-messaging313", "a9s-messaging4"],
    plans: words("messaging-", "single-nano single-small single-big cluster-small cluster-big", ["", "-ssl"]),
    verdicts: withAndWithoutTls(
      `                single-nano single-small single-big cluster-small cluster-big
        single-nano   .           .            .          .             .
        single-small  D           .            .          .             .
        single-big    D           D            .          D             .
        cluster-small DC          C            C          .             .
        cluster-big   DC          DC           C          D             .`,
      "messaging-",
    ),
  },
  {
    kind: "MongodbInstance",
    services: ["a9s-mongodb50", "a9s-mongodb70"],
    plans: words("mongodbsspl-", "single-nano single-small single-big replica-small replica-big", [
      "",
      "-ssl",
    ]),
    verdicts: withAndWithoutTls(
      `                single-nano single-small single-big replica-small replica-big
        single-nano   .           .            .          .             .
        single-small  D           .            .          .             .
        single-big    D           D            .          D             .
        replica-small DR          R            R          .             .
        replica-big   DR          DR           R          D             .`,
      "mongodbsspl-",
    ),
  },
  {
    kind: "ObjectstorageInstance",
    services: ["klutch-objectstorage"],
    plans: words("objectstorage-", "nano small big", [""]),
    verdicts: between(
      `      nano small big
        nano  .    .     .
        small D    .     .
        big   D    D     .`,
      "objectstorage-",
    ),
  },
  {
    kind: "PrometheusInstance",
    services: ["a9s-prometheus"],
    plans: ["prometheus", "promgraf2", "prometheus2-grafana10"].flatMap((one) =>
      words(`${one}-single-`, "small big", [""]),
    ),
    verdicts: (from, to) => (from === to ? "" : "P"),
  },
];

for (const { kind, services, plans, verdicts } of all) {
  const type = claimResource(kind);
  const [service = ""] = services;
  for (const plan of plans)
    test(`what a ${kind} with the plan ${plan} may become`, () =>
      checkPlanChanges(server, plan, { type, service, plans, verdicts, messages }));
  test(`each service of ${kind} has each plan`, () => {
    const combinations = services.flatMap((one) => plans.map((plan): Combination => [one, plan, undefined]));
    return checkCombinations(server, type, combinations);
  });
}
