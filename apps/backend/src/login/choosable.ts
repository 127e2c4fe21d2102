/** The APIs among which a person can choose now, and those that are only named. */
import { crdNameOf } from "@klutch/api";
import type { AllowedOffers } from "../authorization/allowed-offers.ts";
import type { UnavailableApi } from "../export-templates.ts";
import type { Person } from "../identity.ts";
import type { OfferedApi } from "../offered-api.ts";

/** Both are only what the person may bind. */
export interface Choosable {
  readonly offers: readonly OfferedApi[];
  readonly unavailable: readonly UnavailableApi[];
}

/** Returns them. An API that is not available now is none of the offers. */
export async function choosableBy(
  person: Person,
  offers: Pick<AllowedOffers, "visible" | "unavailable">,
): Promise<Choosable> {
  const [visible, unavailable] = await Promise.all([offers.visible(person), offers.unavailable(person)]);
  const missing = new Set(unavailable.map(crdNameOf));
  return { offers: visible.filter((offer) => !missing.has(crdNameOf(offer))), unavailable };
}
