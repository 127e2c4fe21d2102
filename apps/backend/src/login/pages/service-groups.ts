/**
 * Groups offers by data service, as their templates say it: the label of the service type makes an API part of a service, and kinds of all
 * services of an API group, such as backups, belong to each of them.
 */
import { crdNameOf } from "@klutch/api";
import type { OfferedApi } from "../../offered-api.ts";

/** A data service of one API group. */
export interface ServiceGroup {
  /** `<type>.<API group>`. */
  readonly id: string;
  readonly type: string;
  /** Name for people, different from that of every other service. */
  readonly title: string;
  /** Everything that the service needs: its own kinds first, then those that it shares. */
  readonly apis: readonly OfferedApi[];
}

/** Offers under one title on the page. */
export interface OfferSection {
  readonly title: string;
  /** The service that the section is about; undefined for shared kinds and for APIs of no service. */
  readonly service: ServiceGroup | undefined;
  readonly offers: readonly OfferedApi[];
}

/** Returns the services among the offers, by title. */
export function servicesOf(offers: readonly OfferedApi[]): readonly ServiceGroup[] {
  const sorted = offers.toSorted(byGroupAndKind);
  const found = new Map<string, { readonly type: string; readonly title: string; readonly group: string }>();
  for (const { service, group } of sorted) {
    if (service?.kind !== "own") continue;
    const id = `${service.type}.${group}`;
    if (!found.has(id)) found.set(id, { type: service.type, title: service.title, group });
  }
  const services = [...found].map(([id, { type, title, group }]): ServiceGroup => {
    const ofGroup = sorted.filter((one) => one.group === group);
    const own = ofGroup.filter(({ service }) => service?.kind === "own" && service.type === type);
    const hasBackups = !own.some(({ service }) => service?.kind === "own" && service.isWithoutBackups);
    const shared = ofGroup.filter(
      ({ service }) =>
        service?.kind === "shared" && takes(service.types, type) && (hasBackups || !service.needsBackups),
    );
    const isAlone = [...found.values()].filter((one) => one.title === title).length === 1;
    return { id, type, title: isAlone ? title : `${title} (${group})`, apis: [...own, ...shared] };
  });
  return services.toSorted((left, right) => left.title.localeCompare(right.title));
}

/** Returns the sections of the page; each offer is in one. A kind that several services share comes after them. */
export function sectionsOf(offers: readonly OfferedApi[]): readonly OfferSection[] {
  const services = servicesOf(offers);
  const usersOf = (offer: OfferedApi): readonly ServiceGroup[] =>
    services.filter(({ apis }) => apis.includes(offer));
  const sections = services.map((service) => ({
    title: service.title,
    service,
    offers: service.apis.filter((offer) => usersOf(offer).length === 1),
  }));
  const shared = new Map<string, OfferedApi[]>();
  const others: OfferedApi[] = [];
  for (const offer of offers.toSorted(byGroupAndKind)) {
    const users = usersOf(offer);
    if (users.length === 0) others.push(offer);
    if (users.length < 2) continue;
    const title = users.length > mostNamed ? `For the services of ${offer.group}` : `For ${listed(users)}`;
    shared.set(title, [...(shared.get(title) ?? []), offer]);
  }
  const title = services.length === 0 ? "Offered APIs" : "Other APIs";
  return [
    ...sections,
    ...[...shared].map(([one, list]) => ({ title: one, service: undefined, offers: list })),
    ...(others.length === 0 ? [] : [{ title, service: undefined, offers: others }]),
  ];
}

/** Services that the title of a section names. */
const mostNamed = 4;

function listed(services: readonly ServiceGroup[]): string {
  return new Intl.ListFormat("en").format(services.map(({ title }) => title));
}

function takes(types: readonly string[] | undefined, type: string): boolean {
  return types === undefined || types.includes(type);
}

function byGroupAndKind(left: OfferedApi, right: OfferedApi): number {
  return (
    left.group.localeCompare(right.group) ||
    left.kind.localeCompare(right.kind) ||
    crdNameOf(left).localeCompare(crdNameOf(right))
  );
}
