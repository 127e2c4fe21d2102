/** Reads the plans of an offered kind from its schema, and puts prices to them. No I/O. Names are those of the schema, as they are. */
import { listAt, recordAt, textAt } from "@klutch/kube-core";
import { type MonthlyPrice, monthlyPrice, monthText } from "./monthly-price.ts";
import type { PriceBook } from "./price-list.ts";

/** Names that claims of a kind may have. */
export interface OfferedNames {
  readonly services: readonly string[];
  readonly plans: readonly string[];
}

/** The price of a plan. */
export interface OfferedPrice {
  readonly plan: string;
  /** The services with this price; empty if all have it. */
  readonly services: readonly string[];
  readonly perMonth: MonthlyPrice;
}

/** Most names of each sort; a schema with more is no table's. */
const mostNames = 50;

/**
 * Returns the values that the schema of a CustomResourceDefinition allows for `spec.service` and `spec.plan`: an enumeration, or the rules of a
 * service's table (`plan-rules.ts`). Retired plans, which no one can choose, are left out.
 */
export function offeredNames(crd: unknown): OfferedNames {
  const versions = listAt(crd, "spec", "versions");
  const stored = versions.find((one) => recordAt(one)["storage"] === true);
  const spec = recordAt(stored, "schema", "openAPIV3Schema", "properties", "spec");
  const namesOf = (field: string): readonly string[] =>
    [...new Set([...enumerated(spec, field), ...ruled(spec, field)])].slice(0, mostNames);
  return { services: namesOf("service"), plans: namesOf("plan") };
}

function enumerated(spec: unknown, field: string): readonly string[] {
  return listAt(spec, "properties", field, "enum").filter((one) => typeof one === "string");
}

function ruled(spec: unknown, field: string): readonly string[] {
  const list = new RegExp(`self\\.${field} in \\[([^\\]]*)\\](?! && oldSelf)`, "g");
  return listAt(spec, "x-kubernetes-validations")
    .filter((rule) => textAt(rule, "message")?.startsWith(`Unsupported ${field} used for `) === true)
    .flatMap((rule) => [...(textAt(rule, "rule") ?? "").matchAll(list)])
    .flatMap(([, names = ""]) => [...names.matchAll(/"([^"\\]{1,100})"/g)].map(([, name = ""]) => name));
}

/** Returns the prices of the plans in a month, `YYYY-MM`, in the order of the plans; a plan whose services differ has one for each price. */
export function offeredPrices(
  { services, plans }: OfferedNames,
  book: PriceBook,
  month: string,
): readonly OfferedPrice[] {
  return plans.flatMap((plan) => {
    const priced = services.flatMap((service) => {
      const perMonth = monthlyPrice(book, service, plan, month);
      return perMonth === undefined ? [] : [{ service, perMonth }];
    });
    const byPrice = Map.groupBy(priced, ({ perMonth }) => monthText(perMonth));
    return [...byPrice.values()].flatMap((same) => {
      const [first] = same;
      if (first === undefined) return [];
      const named = same.length === services.length ? [] : same.map(({ service }) => service);
      return [{ plan, services: named, perMonth: first.perMonth }];
    });
  });
}
