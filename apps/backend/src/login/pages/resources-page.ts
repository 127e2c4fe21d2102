/** The page on which a person chooses what to bind. */
import { html } from "hono/html";
import type { OfferedApi } from "../../offered-api.ts";
import type { Session } from "../login-flow.ts";
import { apiFacts } from "./api-facts.ts";
import { groupOffers, type GroupedOffer, type OfferGroup } from "./grouped-offers.ts";
import { layout, type Markup } from "./layout.ts";
import { nothingOffered, who } from "./session-facts.ts";

/** Content of the page. */
export interface ResourcesPage {
  readonly prettyName: string;
  readonly session: Pick<Session, "sessionId" | "csrf" | "clusterName" | "displayName" | "user" | "groups">;
  readonly offers: readonly OfferedApi[];
}

export function resourcesPage(page: ResourcesPage): Markup {
  const { prettyName, offers } = page;
  const list =
    offers.length === 0
      ? nothingOffered(page.session)
      : html`${groupOffers(offers).map((group) => section(page, group))}`;
  return layout(
    "Choose an API",
    prettyName,
    html`<h1>Choose an API for your cluster</h1>
      ${who(page.session)}
      <p class="soft">Your cluster gets the API as if it were its own. You are asked once more in the terminal before anything is shared.</p>
      <p class="soft">Keep <code>kubectl bind</code> running until then. If your browser cannot connect after you choose, the command has ended: start it again.</p>
      ${list}`,
  );
}

function section(page: ResourcesPage, { title, offers }: OfferGroup): Markup {
  return html`<h2 class="group">${title}</h2>
    <ul class="apis">${offers.map((one) => card(page, one))}</ul>`;
}

function card(page: ResourcesPage, one: GroupedOffer): Markup {
  const { offer } = one;
  const id = `api-${offer.resource}-${offer.group.replaceAll(".", "-")}`;
  return html`<li>
    <form class="card" method="post" action="/bind" aria-labelledby="${id}">
      <h3 id="${id}">${one.offer.kind}</h3>
      ${apiFacts(one)}
      <input type="hidden" name="s" value="${page.session.sessionId}" />
      <input type="hidden" name="csrf" value="${page.session.csrf}" />
      <input type="hidden" name="resource" value="${offer.resource}" />
      <input type="hidden" name="group" value="${offer.group}" />
      <button type="submit" class="${offer.resource}">Bind ${offer.kind}</button>
    </form>
  </li>`;
}
