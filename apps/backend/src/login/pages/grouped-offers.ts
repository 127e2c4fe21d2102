/** Orders offers for a person: services first, then the kinds that work on objects of others, such as credentials and backups of a service. */
import type { OfferedApi } from "../../offered-api.ts";

/** An offer, and the kinds with which it is of use. */
export interface GroupedOffer {
  readonly offer: OfferedApi;
  /** Kinds of which it needs an object: any of each list. */
  readonly needs: readonly (readonly string[])[];
  /** Kinds that work on its objects. */
  readonly usedBy: readonly string[];
}

/** Offers under one title. */
export interface OfferGroup {
  readonly title: string;
  readonly offers: readonly GroupedOffer[];
}

/** A field of this form names an object of a kind that ends in the word before: `instanceRef` one of PostgresqlInstance. */
const reference = /^(\w+)Ref$/;

/** Returns the groups that are not empty, in the order in which people need them. Each group is ordered by API group and kind. */
export function groupOffers(offers: readonly OfferedApi[]): readonly OfferGroup[] {
  const sorted = offers.toSorted(byGroupAndKind);
  const needsOf = (offer: OfferedApi): readonly (readonly OfferedApi[])[] =>
    offer.fields.flatMap(({ name }) => {
      const word = reference.exec(name)?.[1]?.toLowerCase();
      if (word === undefined) return [];
      const meant = sorted.filter(
        (other) => other !== offer && other.group === offer.group && isOfWord(other, word),
      );
      return meant.length === 0 ? [] : [meant];
    });
  const needs = new Map(sorted.map((offer) => [offer, needsOf(offer)]));
  const grouped = sorted.map((offer): GroupedOffer => {
    const usedBy = sorted.filter((other) => needs.get(other)?.flat().includes(offer));
    return { offer, needs: (needs.get(offer) ?? []).map(kindsOf), usedBy: kindsOf(usedBy) };
  });
  const isService = (one: GroupedOffer): boolean => one.needs.length === 0 && one.usedBy.length > 0;
  const services = grouped.filter(isService);
  const users = grouped.filter((one) => one.needs.length > 0);
  const others = grouped.filter((one) => !isService(one) && one.needs.length === 0);
  if (services.length === 0) return grouped.length === 0 ? [] : [{ title: "Offered APIs", offers: grouped }];
  return [
    { title: "Services", offers: services },
    { title: "Credentials, backups and other operations on services", offers: users },
    { title: "Other APIs", offers: others },
  ].filter((group) => group.offers.length > 0);
}

function byGroupAndKind(left: OfferedApi, right: OfferedApi): number {
  return left.group.localeCompare(right.group) || left.kind.localeCompare(right.kind);
}

function isOfWord({ kind }: OfferedApi, word: string): boolean {
  return kind.toLowerCase().endsWith(word);
}

function kindsOf(offers: readonly OfferedApi[]): readonly string[] {
  return offers.map(({ kind }) => kind);
}
