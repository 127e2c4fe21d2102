/** The APIs of a login on another device: all that the plugin wished, because no page asks the person about the rest. */
import { crdNameOf, type LoginWish } from "@klutch/api";
import type { AllowedOffers, Api } from "../authorization/allowed-offers.ts";
import { UserError } from "../errors.ts";
import type { Person } from "../identity.ts";
import { selectionOf } from "./wish-selection.ts";

/** Returns them. Rejects with `UserError` 403 that names everything that is missing, also if the rest could be bound. */
export async function apisOfWish(
  offers: Pick<AllowedOffers, "visible" | "unavailable">,
  person: Person,
  wish: LoginWish,
): Promise<readonly Api[]> {
  const [visible, unavailable] = await Promise.all([offers.visible(person), offers.unavailable(person)]);
  const missing = new Set(unavailable.map(crdNameOf));
  const available = visible.filter((offer) => !missing.has(crdNameOf(offer)));
  const { chosen, notes } = selectionOf(wish, available, unavailable);
  if (notes.length > 0)
    throw new UserError(
      403,
      notes.map(withoutHint).join(" "),
      "Start again with other values of --service or --api, or ask the platform operator for the right to bind them.",
    );
  if (chosen.size === 0)
    throw new UserError(
      403,
      "There is no API that you may bind here.",
      "Ask the platform operator for the right to bind one.",
    );
  return available
    .filter((offer) => chosen.has(crdNameOf(offer)))
    .map(({ resource, group }) => ({ resource, group }));
}

/** Cuts the sentence that tells a person at the page where to go on. */
function withoutHint(note: string): string {
  return note.replace(/ Select (?:one|them) below\.$/, "");
}
