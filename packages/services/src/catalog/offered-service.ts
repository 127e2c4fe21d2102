/** Reads one service of a catalog document into trusted types. Every fault names its field and value. */
import { isRecord, listAt, recordAt } from "@klutch/kube-core";
import type { Warn } from "./notes.ts";
import { withoutMarkup, shownValue } from "./plain-text.ts";

/** A plan of a catalog whose name a table can hold. */
export interface OfferedPlan {
  readonly name: string;
  readonly description: string;
  /** Place in the document, such as `services[0].plans[2]`. */
  readonly field: string;
  readonly bindable: boolean;
  readonly updateable: boolean;
  /** Seconds. */
  readonly maximumPollingDuration: number | undefined;
  /** Schemas of parameters as the catalog has them; unread. */
  readonly schemas: { readonly create: unknown; readonly update: unknown; readonly bind: unknown };
}

/** A service of a catalog. */
export interface OfferedService {
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  readonly bindable: boolean;
  readonly instancesRetrievable: boolean;
  readonly bindingsRetrievable: boolean;
  readonly plans: readonly OfferedPlan[];
}

/** Selects one service, and some of its plans. */
export interface Choice {
  readonly service?: string | undefined;
  /** Default: all plans. */
  readonly plans?: readonly string[] | undefined;
}

/** Most plans that a table holds. */
const mostPlans = 200;
const mostListed = 30;
const offeredName = /^[A-Za-z0-9][-._A-Za-z0-9]{0,63}$/;
const nameRule = "1 to 64 letters, digits, dots, hyphens and underscores, with a letter or digit first";

/** A catalog without a table: every fault is a sentence. */
export class CatalogError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    const shown = faults.slice(0, mostListed);
    super(shown[0] ?? "the catalog has faults");
    this.name = "CatalogError";
    this.faults =
      shown.length === faults.length ? shown : [...shown, `and ${faults.length - shown.length} more faults`];
  }
}

/** Reads the chosen service. Throws `CatalogError`. */
export function offeredService(document: unknown, choice: Choice, warn: Warn): OfferedService {
  const [value, field] = chosen(document, choice.service);
  const name = withoutInstanceSuffix(value["name"]);
  if (!isName(name)) throw new CatalogError([fault(`${field}.name`, value["name"], nameRule)]);
  const twins = idsOfOthers(document, field, value);
  if (twins.length > 0) throw new CatalogError(twins);
  const plans = plansOf(value, field, choice.plans, warn);
  const { metadata } = value;
  for (const flag of ["bindable", "instances_retrievable", "bindings_retrievable", "plan_updateable"])
    if (value[flag] !== undefined && typeof value[flag] !== "boolean")
      warn(`${field}.${flag}`, value[flag], "expected true or false; it counts as false");
  return {
    name,
    displayName: withoutMarkup(recordAt(metadata)["displayName"], 60),
    description: withoutMarkup(value["description"], 500),
    bindable: value["bindable"] === true,
    instancesRetrievable: value["instances_retrievable"] === true,
    bindingsRetrievable: value["bindings_retrievable"] === true,
    plans,
  };
}

/** Builds the sentence of a fault. */
function fault(field: string, value: unknown, expected: string): string {
  return `${field}: is ${shownValue(value)}, expected ${expected}`;
}

/** The a9s brokers' suffix, which a table leaves out. */
function withoutInstanceSuffix(name: unknown): unknown {
  return typeof name === "string" ? name.slice(0, 600).replace(/-ms-\d+$/, "") : name;
}

function isName(name: unknown): name is string {
  return typeof name === "string" && offeredName.test(name);
}

type Placed = readonly [value: Readonly<Record<string, unknown>>, field: string];

function chosen(document: unknown, wanted: string | undefined): Placed {
  const list = recordAt(document)["services"];
  if (!Array.isArray(list)) throw new CatalogError([fault("services", list, "the list of services")]);
  const all = list.flatMap((value, index): readonly Placed[] =>
    isRecord(value) ? [[value, `services[${index}]`]] : [],
  );
  const names = all.map(([{ name }]) => (typeof name === "string" ? shownValue(name) : "one without a name"));
  const listed = `${names.slice(0, mostListed).join(", ")}${names.length > mostListed ? ` and ${names.length - mostListed} more` : ""}`;
  if (all.length === 0) throw new CatalogError([fault("services", list, "at least one service")]);
  if (wanted === undefined) {
    const [only] = all;
    if (all.length === 1 && only !== undefined) return only;
    throw new CatalogError([`the catalog has ${all.length} services: choose one with --service: ${listed}`]);
  }
  const exact = all.filter(([{ name }]) => name === wanted);
  const found = exact.length > 0 ? exact : all.filter(([{ name }]) => withoutInstanceSuffix(name) === wanted);
  const [one] = found;
  if (one === undefined)
    throw new CatalogError([`the catalog has no service ${shownValue(wanted)}: it has ${listed}`]);
  if (found.length > 1)
    throw new CatalogError(
      found
        .slice(1)
        .map(([{ name }, field]) => fault(`${field}.name`, name, `another name; ${one[1]} has it`)),
    );
  return one;
}

/** Returns the faults of ids of the service and its plans that another service has, too: a broker could not tell which is meant. */
function idsOfOthers(
  document: unknown,
  field: string,
  service: Readonly<Record<string, unknown>>,
): readonly string[] {
  const services = new Map<unknown, string>();
  const plans = new Map<unknown, string>();
  for (const [index, other] of listAt(document, "services").entries()) {
    const at = `services[${index}]`;
    if (at === field) continue;
    services.set(recordAt(other)["id"], at);
    for (const [place, plan] of listAt(other, "plans").entries())
      plans.set(recordAt(plan)["id"], `${at}.plans[${place}]`);
  }
  const twin = (
    at: string,
    { id }: Readonly<Record<string, unknown>>,
    all: typeof plans,
  ): readonly string[] => {
    const other = id === undefined ? undefined : all.get(id);
    return other === undefined ? [] : [fault(`${at}.id`, id, `another id; ${other} has it`)];
  };
  const own = listAt(service, "plans").map((plan) => recordAt(plan));
  return [
    ...twin(field, service, services),
    ...own.flatMap((plan, index) => twin(`${field}.plans[${index}]`, plan, plans)),
  ];
}

function plansOf(
  service: Readonly<Record<string, unknown>>,
  field: string,
  wanted: readonly string[] | undefined,
  warn: Warn,
): readonly OfferedPlan[] {
  const all = listAt(service, "plans").map((value, index) => ({
    plan: recordAt(value),
    at: `${field}.plans[${index}]`,
  }));
  const faults = [...doubled(all, "name"), ...doubled(all, "id")];
  if (faults.length > 0) throw new CatalogError(faults);
  for (const name of wanted ?? [])
    if (!all.some(({ plan }) => plan["name"] === name))
      throw new CatalogError([`${field} has no plan ${shownValue(name)}`]);
  const taken = all.filter(
    ({ plan }) => wanted === undefined || wanted.some((name) => name === plan["name"]),
  );
  if (taken.length > mostPlans)
    throw new CatalogError([
      `${field}.plans: has ${taken.length} plans, expected at most ${mostPlans}; name those to offer with --plan`,
    ]);
  const plans = taken.flatMap(({ plan, at }) => {
    const { name } = plan;
    if (isName(name)) return [planOf(plan, name, { at, service, warn })];
    warn(`${at}.name`, name, `expected ${nameRule}; the plan is left out`);
    return [];
  });
  if (plans.length === 0)
    throw new CatalogError([
      fault(`${field}.plans`, service["plans"], "at least one plan with a usable name"),
    ]);
  return plans;
}

function doubled(
  all: readonly { readonly plan: Readonly<Record<string, unknown>>; readonly at: string }[],
  key: "name" | "id",
): readonly string[] {
  const first = new Map<unknown, string>();
  return all.flatMap(({ plan, at }) => {
    const value = plan[key];
    const before = first.get(value);
    if (before === undefined) first.set(value, at);
    return before === undefined || value === undefined
      ? []
      : [fault(`${at}.${key}`, value, `another ${key}; ${before} has it`)];
  });
}

function planOf(
  plan: Readonly<Record<string, unknown>>,
  name: string,
  {
    at,
    service,
    warn,
  }: { readonly at: string; readonly service: Readonly<Record<string, unknown>>; readonly warn: Warn },
): OfferedPlan {
  const { bindable, plan_updateable: updateable, maximum_polling_duration: seconds } = plan;
  const isDuration = typeof seconds === "number" && Number.isSafeInteger(seconds) && seconds > 0;
  if (seconds !== undefined && !isDuration)
    warn(`${at}.maximum_polling_duration`, seconds, "expected whole seconds from 1; it is ignored");
  const schemas = plan["schemas"];
  return {
    name,
    description: withoutMarkup(plan["description"], 200),
    field: at,
    bindable: typeof bindable === "boolean" ? bindable : service["bindable"] === true,
    updateable: typeof updateable === "boolean" ? updateable : service["plan_updateable"] === true,
    maximumPollingDuration: isDuration ? seconds : undefined,
    schemas: {
      create: schemaIn(recordAt(schemas, "service_instance", "create")),
      update: schemaIn(recordAt(schemas, "service_instance", "update")),
      bind: schemaIn(recordAt(schemas, "service_binding", "create")),
    },
  };
}

/** Returns the schema of an action. Brokers in Go write null for one without a schema. */
function schemaIn(action: Readonly<Record<string, unknown>>): unknown {
  return action["parameters"] ?? undefined;
}
