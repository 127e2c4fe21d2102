/** Finds the APIs that a wish means, among those that a person may bind. Decides nothing: the page only selects them. */
import { crdNameOf, type LoginWish, mostApisOfLogin, resourceNamed } from "@klutch/api";
import { plainText, similarName } from "@klutch/kube-core";
import type { OfferedApi } from "../offered-api.ts";
import type { UnavailableApi } from "../export-templates.ts";
import { type ServiceGroup, servicesOf } from "./pages/service-groups.ts";

/** Result of a wish. */
export interface WishSelection {
  /** Names of the selected APIs, `<resource>.<group>`. */
  readonly chosen: ReadonlySet<string>;
  /** One sentence for each part of the wish that selects nothing. */
  readonly notes: readonly string[];
}

/** Tells where to go on, as a sentence after a space: whether one of the named or several are to be selected. */
export type Hint = (what: "one" | "them") => string;

const atPage: Hint = (what) => ` Select ${what} below.`;
/** For a login without a page, where nothing can be selected. */
export const noPage: Hint = () => "";

/** Returns what the wish selects. */
export function selectionOf(
  wish: LoginWish,
  offers: readonly OfferedApi[],
  unavailable: readonly UnavailableApi[] = [],
  hint: Hint = atPage,
): WishSelection {
  switch (wish.kind) {
    case "none":
      return { chosen: new Set(), notes: [] };
    case "all":
      return limited(offers.map(crdNameOf), "APIs are offered", hint);
    case "service":
      return ofService(wish.service, offers, hint);
    case "apis": {
      const found = wish.names.map((name) => ofName(name, offers, unavailable, hint));
      const names = found.filter(({ api }) => api !== undefined).map(({ api = "" }) => api);
      return { chosen: new Set(names), notes: found.flatMap(({ note }) => note ?? []) };
    }
  }
}

function limited(names: readonly string[], what: string, hint: Hint): WishSelection {
  if (names.length <= mostApisOfLogin) return { chosen: new Set(names), notes: [] };
  const note = `${names.length} ${what}, and one login binds at most ${mostApisOfLogin}.${hint("them")}`;
  return { chosen: new Set(), notes: [note] };
}

function ofName(
  name: string,
  offers: readonly OfferedApi[],
  unavailable: readonly UnavailableApi[],
  hint: Hint,
): { readonly api?: string; readonly note?: string } {
  const meant = offers.filter((offer) => crdNameOf(offer) === name || offer.resource === name);
  const [only] = meant.map(crdNameOf);
  if (only !== undefined && meant.length === 1) return { api: only };
  if (only !== undefined)
    return {
      note: `${name} is offered in several API groups: ${some(meant.map(crdNameOf))}.${hint("one")}`,
    };
  const missing = unavailable.find((one) => crdNameOf(one) === name || one.resource === name);
  if (missing !== undefined)
    return { note: `${crdNameOf(missing)} is not available now: ${missing.reason}.` };
  return { note: `${name} is not among the APIs that you may bind.${nearest(nearApis(name, offers))}` };
}

function ofService(name: string, offers: readonly OfferedApi[], hint: Hint): WishSelection {
  const services = servicesOf(offers);
  const meant = services.filter(({ id, type }) => id === name || type === name);
  const [only] = meant;
  if (only !== undefined && meant.length === 1)
    return limited(only.apis.map(crdNameOf), "APIs belong to it", hint);
  const note =
    meant.length > 1
      ? `Service ${name} is offered in several API groups: ${some(meant.map(({ id }) => id))}.${hint("one")}`
      : `Service ${plainText(name, 80)} is not among those that you may bind.${nearest(nearServices(name, services))}`;
  return { chosen: new Set(), notes: [note] };
}

/** Names in a note. */
const mostNames = 5;

function some(names: readonly string[]): string {
  const more = names.length - mostNames;
  return names.slice(0, mostNames).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function nearest(names: readonly string[]): string {
  return names.length === 0 ? "" : ` Nearest: ${some(names)}.`;
}

/** The same resource in another group, a misspelt name, or a part of one. */
function nearApis(name: string, offers: readonly OfferedApi[]): readonly string[] {
  const { resource } = resourceNamed(name);
  const namesOf = (fits: (offer: OfferedApi) => boolean): readonly string[] =>
    offers.filter(fits).map(crdNameOf);
  const same = namesOf((offer) => offer.resource === resource);
  if (same.length > 0) return same;
  const similar = similarName(name, offers.map(crdNameOf));
  if (similar !== undefined) return [similar];
  const similarResource = similarName(
    resource,
    offers.map((offer) => offer.resource),
  );
  if (similarResource !== undefined) return namesOf((offer) => offer.resource === similarResource);
  return namesOf((offer) => offer.resource.includes(resource) || resource.includes(offer.resource));
}

function nearServices(name: string, services: readonly ServiceGroup[]): readonly string[] {
  const types = [...new Set(services.map(({ type }) => type))];
  const lower = name.toLowerCase();
  const similar = similarName(lower, types);
  if (similar !== undefined) return [similar];
  const parts = types.filter((type) => type.includes(lower) || lower.includes(type));
  return parts.length > 0 ? parts : types;
}
