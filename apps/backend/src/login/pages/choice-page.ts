/** The page on which a person chooses several APIs. One form: it works without scripts, so the search is a button of the form, too. */
import { crdNameOf, mostApisOfLogin } from "@klutch/api";
import { html } from "hono/html";
import type { UnavailableApi } from "../../export-templates.ts";
import type { OfferedApi } from "../../offered-api.ts";
import { apiFacts } from "./api-facts.ts";
import { type GroupedOffer, groupOffers } from "./grouped-offers.ts";
import { layout, type Markup } from "./layout.ts";
import type { ResourcesPage } from "./resources-page.ts";
import { type OfferSection, sectionsOf, type ServiceGroup, servicesOf } from "./service-groups.ts";
import { nothingOffered, who } from "./session-facts.ts";

/** Content of the page. */
export interface ChoicePage extends ResourcesPage {
  readonly unavailable: readonly UnavailableApi[];
  /** Names of the APIs that are selected, `<resource>.<group>`. */
  readonly chosen: ReadonlySet<string>;
  /** Ids of the services that are selected as a whole. */
  readonly services?: ReadonlySet<string> | undefined;
  /** Sentences about what could not be selected. */
  readonly notes: readonly string[];
  /** Words to search for. Default: all APIs are shown. */
  readonly search?: string | undefined;
}

/** Maximum length of a search. */
export const longestSearch = 100;

/** Renders it. Selected APIs are shown whatever is searched for. */
export function choicePage(page: ChoicePage): Markup {
  const { prettyName, offers, session, notes, unavailable } = page;
  return layout(
    "Choose APIs",
    prettyName,
    html`<h1>Choose APIs for your cluster</h1>
      ${who(session)}
      <p class="soft">Your cluster gets each API as if it were its own. You are asked once more in the terminal before anything is shared.</p>
      <p class="soft">Keep <code>kubectl bind</code> running until then. If your browser cannot connect after you choose, the command has ended: start it again.</p>
      ${notes.length === 0 ? "" : html`<div class="card problem" role="status">${notes.map((note) => html`<p>${note}</p>`)}</div>`}
      ${offers.length === 0 ? nothingOffered(session) : form(page)}
      ${unavailable.length === 0 ? "" : missing(unavailable)}`,
  );
}

function form(page: ChoicePage): Markup {
  const { session, offers, search = "" } = page;
  const facts = new Map(
    groupOffers(offers).flatMap((group) => group.offers.map((one) => [one.offer, one] as const)),
  );
  const services = servicesOf(offers);
  const shown = sectionsOf(offers).flatMap((section) => {
    const found = section.offers.filter((offer) => isShown(page, offer, services));
    return found.length === 0 ? [] : [{ ...section, offers: found }];
  });
  return html`<form method="post" action="/bind">
    <input type="hidden" name="s" value="${session.sessionId}" />
    <input type="hidden" name="csrf" value="${session.csrf}" />
    <div class="search" role="search">
      <label for="q">Search</label>
      <input type="search" id="q" name="q" value="${search}" maxlength="${longestSearch}" autocomplete="off" />
      <button type="submit" class="plain" formaction="/resources">Search</button>
      ${search === "" ? "" : html`<a href="/resources?s=${encodeURIComponent(session.sessionId)}">Start again with all APIs</a>`}
    </div>
    ${search === "" ? "" : html`<p role="status">${found(shown, search)}</p>`}
    ${shown.map((one, index) => section(page, one, index, facts))}
    <div class="actions"><button type="submit">Bind</button>
      <span class="soft">Up to ${mostApisOfLogin} selected APIs.</span></div>
  </form>`;
}

function found(sections: readonly OfferSection[], search: string): string {
  const count = sections.reduce((sum, { offers }) => sum + offers.length, 0);
  return count === 0
    ? `Nothing matches “${search}”.`
    : `${count} ${count === 1 ? "API matches" : "APIs match"} “${search}” or ${count === 1 ? "is" : "are"} selected.`;
}

/** Returns true for an API that is selected, or whose names, description or services have all words of the search. */
function isShown(
  { chosen, search = "" }: ChoicePage,
  offer: OfferedApi,
  services: readonly ServiceGroup[],
): boolean {
  if (chosen.has(crdNameOf(offer))) return true;
  const { kind, description } = offer;
  const titles = services.filter(({ apis }) => apis.includes(offer)).map(({ title }) => title);
  const text = [...titles, kind, crdNameOf(offer), description].join(" ").toLowerCase();
  const words = search.toLowerCase().split(/\s+/);
  return words.every((word) => text.includes(word));
}

function section(
  page: ChoicePage,
  { title, service, offers }: OfferSection,
  index: number,
  facts: ReadonlyMap<OfferedApi, GroupedOffer>,
): Markup {
  return html`<fieldset>
    <legend><h2>${title}</h2></legend>
    ${service === undefined || service.apis.length < 2 ? "" : whole(page, service, index)}
    <ul class="apis">${offers.map((offer) => card(page, facts.get(offer) ?? { offer, needs: [], usedBy: [] }))}</ul>
  </fieldset>`;
}

function whole({ services }: ChoicePage, { id, title, apis }: ServiceGroup, index: number): Markup {
  const box = `service-${index}`;
  return html`<div class="tick whole">
    <input type="checkbox" id="${box}" name="service" value="${id}"${services?.has(id) === true ? html` checked` : ""} />
    <label for="${box}">All of ${title}: <span class="soft">${apis.map(({ kind }) => kind).join(", ")}</span></label>
  </div>`;
}

function card({ chosen }: ChoicePage, one: GroupedOffer): Markup {
  const name = crdNameOf(one.offer);
  const box = `api-${name}`;
  return html`<li class="card">
    <h3 class="tick">
      <input type="checkbox" id="${box}" name="api" value="${name}"${chosen.has(name) ? html` checked` : ""} />
      <label for="${box}">${one.offer.kind}</label>
    </h3>
    ${apiFacts(one)}
  </li>`;
}

function missing(unavailable: readonly UnavailableApi[]): Markup {
  return html`<h2 class="group">Not available now</h2>
    <ul class="facts">${unavailable.map((one) => html`<li><code>${crdNameOf(one)}</code>: ${one.reason}.</li>`)}</ul>
    <p class="soft">Ask the platform operator if you need one of them.</p>`;
}
