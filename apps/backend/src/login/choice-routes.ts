/** The pages of a login whose plugin takes several APIs. */
import { crdNameOf, type LoginWish, readWish } from "@klutch/api";
import { textAt } from "@klutch/kube-core";
import type { AllowedOffers, Api } from "../authorization/allowed-offers.ts";
import { UserError } from "../errors.ts";
import { choosableBy } from "./choosable.ts";
import { chosenApis, type Form, textsAt } from "./chosen-apis.ts";
import type { Session } from "./login-flow.ts";
import { choicePage, longestSearch } from "./pages/choice-page.ts";
import type { Markup } from "./pages/layout.ts";
import { servicesOf } from "./pages/service-groups.ts";
import { selectionOf } from "./wish-selection.ts";

/** Dependencies of the pages. */
export interface ChoiceOptions {
  readonly prettyName: string;
  readonly offers: Pick<AllowedOffers, "visible" | "unavailable">;
}

/** A session of a plugin that takes several APIs. */
export type ChoosingSession = Session & { readonly wish: string };

/** Returns true for a session of a plugin that takes several APIs. */
export function isChoosing(session: Session): session is ChoosingSession {
  return session.wish !== undefined;
}

/** Returns the page as it is first shown: the APIs that the plugin asked for are selected. */
export async function firstChoice(options: ChoiceOptions, session: ChoosingSession): Promise<Markup> {
  const { offers, unavailable } = await choosableBy(session, options.offers);
  const selection = selectionOf(wishOf(session), offers, unavailable);
  return choicePage({ prettyName: options.prettyName, session, offers, unavailable, ...selection });
}

/** Returns the page after a search: what the person selected so far stays selected. */
export async function searchedChoice(
  options: ChoiceOptions,
  session: ChoosingSession,
  form: Form,
  notes: readonly string[] = [],
): Promise<Markup> {
  const { offers, unavailable } = await choosableBy(session, options.offers);
  const services = new Set(textsAt(form, "service"));
  const whole = servicesOf(offers).filter(({ id }) => services.has(id));
  const chosen = new Set([...textsAt(form, "api"), ...whole.flatMap(({ apis }) => apis.map(crdNameOf))]);
  const search = (textAt(form, "q") ?? "").trim().slice(0, longestSearch);
  const { prettyName } = options;
  return choicePage({ prettyName, session, offers, unavailable, chosen, services, notes, search });
}

/** Returns the APIs of the form, or the page again, with the problem of the selection. A form of `GET /bind` names one API by two fields. */
export async function submittedChoice(
  options: ChoiceOptions,
  session: Session,
  form: Form,
): Promise<readonly Api[] | { readonly page: Markup; readonly problem: UserError }> {
  const resource = textAt(form, "resource");
  if (!isChoosing(session) || resource !== undefined)
    return [{ resource: resource ?? "", group: textAt(form, "group") ?? "" }];
  try {
    return chosenApis(form, await options.offers.visible(session));
  } catch (problem) {
    if (!(problem instanceof UserError)) throw problem;
    // A browser cannot go back to the answer of a search, because it is not stored.
    const notes = [`${problem.message} ${problem.advice}`];
    return { page: await searchedChoice(options, session, { ...form, q: "" }, notes), problem };
  }
}

/** The session was sealed here with a wish that had been read. */
function wishOf({ wish }: ChoosingSession): LoginWish {
  return readWish(wish);
}
