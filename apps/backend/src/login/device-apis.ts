/** The APIs of a login on another device: all that the plugin wished, because no page asks the person about the rest. */
import { crdNameOf, type LoginWish } from "@klutch/api";
import type { AllowedOffers, Api } from "../authorization/allowed-offers.ts";
import { UserError } from "../errors.ts";
import type { Person } from "../identity.ts";
import { choosableBy } from "./choosable.ts";
import { noPage, selectionOf } from "./wish-selection.ts";

/** Returns them. Rejects with `UserError` 403 that names everything that is missing, also if the rest could be bound. */
export async function apisOfWish(
  offers: Pick<AllowedOffers, "visible" | "unavailable">,
  person: Person,
  wish: LoginWish,
): Promise<readonly Api[]> {
  const { offers: available, unavailable } = await choosableBy(person, offers);
  const { chosen, notes } = selectionOf(wish, available, unavailable, noPage);
  if (notes.length > 0)
    throw new UserError(
      403,
      notes.join(" "),
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
