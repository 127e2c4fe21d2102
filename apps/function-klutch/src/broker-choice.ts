/**
 * Chooses the broker of a new instance among the ProviderConfigs that operators labelled for its service. No I/O.
 *
 * | the claim's region        | the instance is made                                                                       |
 * |---------------------------|--------------------------------------------------------------------------------------------|
 * | is allowed here           | at the broker of the region                                                                |
 * | is not allowed or unknown | not at all: `RegionNotAvailable`, with the allowed ones; the same words for both           |
 * | unset; the rule has one   | at the broker of `region` of the rule, else of the first of its `regions` that takes any   |
 * | unset; no rule            | at the default broker, else at that of the ProviderConfig that is named after the type     |
 *
 * Allowed is what the rule of the namespace or the app cluster lists, else each region that is not reserved. A drained broker gets nothing new.
 * Two brokers that take new instances of one region are a mistake, `RegionMisconfigured`, as is a rule that names a region without a broker.
 */
import {
  defaultBrokerLabel,
  drainedLabel,
  regionAboutAnnotation,
  regionLabel,
  reservedLabel,
} from "@klutch/api";
import type { Json } from "@klutch/crossplane";
import { isDnsSubdomain, plainText, textAt } from "@klutch/kube-core";
import { providerConfigName } from "@klutch/services";

/** A labelled ProviderConfig. */
export interface KnownBroker {
  readonly name: string;
  readonly region: string | undefined;
  /** The region in words, for developers. */
  readonly about: string | undefined;
  /** For claims without a region. */
  readonly isDefault: boolean;
  /** Only for those whose rule names its region. */
  readonly isReserved: boolean;
  /** Neither drained nor being deleted. */
  readonly takesNew: boolean;
}

/** The regions of a namespace or an app cluster. */
export interface RegionRule {
  /** Allowed ones. Default: all that are not reserved. */
  readonly regions?: readonly string[] | undefined;
  /** The region of claims that name none. Default: the first of `regions`. */
  readonly region?: string | undefined;
}

/** Reasons why no broker is chosen: the first is for the developer, the second for operators. */
export type RegionReason = "RegionNotAvailable" | "RegionMisconfigured";

/** No broker can be chosen; the message has the next step. */
export interface NoBroker {
  readonly reason: RegionReason;
  readonly message: string;
}

/** Name of the ProviderConfig, and its region if it has one. */
export interface ChosenBroker {
  readonly config: string;
  readonly region: string | undefined;
}

/** The facts of a choice. */
export interface BrokerQuestion {
  readonly type: string;
  /** `spec.region` of the claim. */
  readonly wanted: string | undefined;
  readonly brokers: readonly KnownBroker[];
  readonly rule: RegionRule;
}

/** Regions that one message lists. */
const mostListed = 10;
const aboutLength = 60;

/** Reads a ProviderConfig; undefined when its name is none. */
export function readBroker(object: Json): KnownBroker | undefined {
  const name = textAt(object, "metadata", "name") ?? "";
  if (!isDnsSubdomain(name)) return undefined;
  const isSaid = (label: string): boolean => textAt(object, "metadata", "labels", label) === "true";
  const about = plainText(
    textAt(object, "metadata", "annotations", regionAboutAnnotation) ?? "",
    aboutLength,
  );
  return {
    name,
    region: textAt(object, "metadata", "labels", regionLabel) || undefined,
    about: about === "" ? undefined : about,
    isDefault: isSaid(defaultBrokerLabel),
    isReserved: isSaid(reservedLabel),
    takesNew: !isSaid(drainedLabel) && textAt(object, "metadata", "deletionTimestamp") === undefined,
  };
}

/** Chooses; see the table above. The order of `brokers` does not matter. */
export function chooseBroker(asked: BrokerQuestion): ChosenBroker | NoBroker {
  const { wanted, rule } = asked;
  const brokers = asked.brokers.toSorted((left, right) => (left.name < right.name ? -1 : 1));
  const question = { ...asked, brokers };
  if (wanted !== undefined) {
    const isKnown = rule.regions !== undefined || inRegion(brokers, wanted).length > 0;
    return isKnown && isAllowed(question, wanted) ? brokerIn(question, wanted) : notAvailable(question);
  }
  const takers = (rule.regions ?? []).filter((region) => inRegion(brokers, region).some(takesNew));
  const region = rule.region ?? takers[0] ?? rule.regions?.[0];
  return region === undefined ? usualBroker(question) : brokerIn(question, region);
}

function inRegion(brokers: readonly KnownBroker[], region: string): readonly KnownBroker[] {
  return brokers.filter((broker) => broker.region === region);
}

function takesNew(broker: KnownBroker): boolean {
  return broker.takesNew;
}

function isAllowed({ brokers, rule }: BrokerQuestion, region: string): boolean {
  if (rule.region === region) return true;
  return rule.regions === undefined
    ? inRegion(brokers, region).some(({ isReserved }) => !isReserved)
    : rule.regions.includes(region);
}

/** The broker of a region that is allowed. */
function brokerIn(question: BrokerQuestion, region: string): ChosenBroker | NoBroker {
  const { type, wanted } = question;
  const all = usable(question, region);
  const takers = all.filter(takesNew);
  const [first] = takers;
  if (takers.length > 1)
    return misconfigured(
      `${named(takers)} both claim the region ${plainText(region, 63)} of ${type}; drain or relabel all but one`,
    );
  if (first !== undefined) return { config: first.name, region };
  if (all.length > 0 && wanted !== undefined) return notAvailable(question);
  const lack = all.length > 0 ? `takes no new instances: ${named(all)} is drained` : "has no broker";
  return misconfigured(
    `the region ${plainText(region, 63)}, which is chosen for ${type} here, ${lack}; label a ProviderConfig with ${regionLabel}, or choose another region`,
  );
}

/** The broker for a claim without a region where no rule chooses one. */
function usualBroker(question: BrokerQuestion): ChosenBroker | NoBroker {
  const { type, brokers } = question;
  const defaults = brokers.filter((broker) => broker.isDefault && broker.takesNew && !broker.isReserved);
  const [first] = defaults;
  if (defaults.length > 1)
    return misconfigured(
      `${named(defaults)} both are labelled ${defaultBrokerLabel} for ${type}; only one can be`,
    );
  if (first !== undefined) return { config: first.name, region: first.region };
  const config = providerConfigName(type);
  const labelled = brokers.find(({ name }) => name === config);
  if (labelled !== undefined && (!labelled.takesNew || labelled.isReserved)) return notAvailable(question);
  return { config, region: labelled?.region };
}

/** Says the same of a region that does not exist and of one that others have. */
function notAvailable(question: BrokerQuestion): NoBroker {
  const { wanted, type } = question;
  const offered = offeredRegions(question);
  const said =
    wanted === undefined
      ? `${type} is made in no region by default`
      : `spec.region is ${plainText(JSON.stringify(wanted), 70)}, where no ${type} can be made`;
  const next =
    offered.length > 0
      ? `with spec.region as one of: ${listed(offered)}`
      : wanted === undefined
        ? "when the operators of the control plane offer one"
        : "without spec.region";
  return {
    reason: "RegionNotAvailable",
    message: `${said}; nothing was created, so delete the claim and create it again ${next}`,
  };
}

/** Regions that a claim may name and that take new instances now, each with its words. */
function offeredRegions(question: BrokerQuestion): readonly string[] {
  const takers = question.brokers.filter((broker) => broker.takesNew);
  const names = new Set(takers.flatMap(({ region }) => (region === undefined ? [] : [region])));
  return [...names]
    .filter((region) => isAllowed(question, region))
    .flatMap((region) => {
      const [first] = usable(question, region).filter(takesNew);
      if (first === undefined) return [];
      return first.about === undefined ? plainText(region, 63) : `${plainText(region, 63)} (${first.about})`;
    })
    .toSorted();
}

/** The brokers of a region that the claim may have: without a rule that names the region, only those that are not reserved. */
function usable({ brokers, rule }: BrokerQuestion, region: string): readonly KnownBroker[] {
  const byRule = rule.regions?.includes(region) === true || rule.region === region;
  return inRegion(brokers, region).filter(({ isReserved }) => byRule || !isReserved);
}

function listed(texts: readonly string[]): string {
  const more = texts.length - mostListed;
  const shown = texts.slice(0, mostListed).join(", ");
  return more > 0 ? `${shown} and ${more} more` : shown;
}

function named(brokers: readonly KnownBroker[]): string {
  return `ProviderConfig ${listed(brokers.map(({ name }) => name).toSorted())}`;
}

function misconfigured(message: string): NoBroker {
  return {
    reason: "RegionMisconfigured",
    message: `its region is unknown: ${message}; ask the operators of the control plane`,
  };
}

/** A mistake of operators that is found before a choice, in the same words. */
export { misconfigured as misconfiguredRegion };
