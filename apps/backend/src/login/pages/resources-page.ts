/** The page on which a person chooses what to bind. */
import { claimDetails, claimedObjects, judgeClaim, type PermissionClaim } from "@klutch/api";
import { html } from "hono/html";
import type { OfferedApi } from "../../offered-api.ts";
import type { Session } from "../login-flow.ts";
import { groupOffers, type GroupedOffer, type OfferGroup } from "./grouped-offers.ts";
import { layout, type Markup } from "./layout.ts";

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
      ? nothing(page.session)
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

/** Says why the list is empty, and by which names an operator gives the right. */
function nothing({ user, groups = [] }: ResourcesPage["session"]): Markup {
  if (user === undefined)
    return html`<div class="card"><p>Nothing is offered yet. The platform operator offers an API with an <code>APIServiceExportTemplate</code>.</p></div>`;
  const known =
    groups.length === 0 ? "" : html` and in ${groups.map((group) => html`<code>${group}</code> `)}`;
  return html`<div class="card"><p>There is no API that you may bind here.</p>
    <p class="soft">The platform operator gives the right <code>bind</code> on an <code>APIServiceExportTemplate</code>. The control plane knows you as <code>${user}</code>${known}.</p></div>`;
}

/** Says for which cluster the page is and who logged in, as far as it is known. Both are only names. */
function who({ clusterName, displayName }: ResourcesPage["session"]): Markup | "" {
  const facts = [
    ...(clusterName === undefined ? [] : [html`Cluster <strong>${clusterName}</strong>.`]),
    ...(displayName === undefined ? [] : [html` You are logged in as <strong>${displayName}</strong>.`]),
  ];
  return facts.length === 0 ? "" : html`<p class="who">${facts}</p>`;
}

function section(page: ResourcesPage, { title, offers }: OfferGroup): Markup {
  return html`<h2 class="group">${title}</h2>
    <ul class="apis">${offers.map((one) => card(page, one))}</ul>`;
}

function card(page: ResourcesPage, { offer, needs, usedBy }: GroupedOffer): Markup {
  const id = `api-${offer.resource}-${offer.group.replaceAll(".", "-")}`;
  return html`<li>
    <form class="card" method="post" action="/bind" aria-labelledby="${id}">
      <h3 id="${id}">${offer.kind}</h3>
      <p class="soft"><code>${offer.resource}.${offer.group}</code>, ${offer.scope === "Namespaced" ? "in namespaces" : "for the whole cluster"}</p>
      ${offer.description === "" ? "" : html`<p>${offer.description}</p>`}
      ${needs.map((kinds) => html`<p class="soft">Works on an object of ${oneOf(kinds)}. Bind that, too.</p>`)}
      ${usedBy.length === 0 ? "" : html`<p class="soft">Often bound with it: ${usedBy.join(", ")}.</p>`}
      ${offer.fields.length === 0 ? "" : settings(offer)}
      ${
        offer.permissionClaims.length === 0
          ? html`<p class="soft">It asks for no other objects of your cluster.</p>`
          : html`<p>It also asks to</p>
              <ul class="facts">${offer.permissionClaims.map((claim) => claimItem(claim, offer))}</ul>`
      }
      <input type="hidden" name="s" value="${page.session.sessionId}" />
      <input type="hidden" name="csrf" value="${page.session.csrf}" />
      <input type="hidden" name="resource" value="${offer.resource}" />
      <input type="hidden" name="group" value="${offer.group}" />
      <button type="submit" class="${offer.resource}">Bind ${offer.kind}</button>
    </form>
  </li>`;
}

function oneOf(kinds: readonly string[]): string {
  return new Intl.ListFormat("en", { type: "disjunction" }).format(kinds);
}

/** Renders the fields as `kubectl explain` shows them after binding, because plans are chosen before that. */
function settings({ kind, fields }: OfferedApi): Markup {
  return html`<details>
    <summary>What a ${kind} can be</summary>
    <dl>${fields.map(({ name, about }) => html`<dt><code>${name}</code></dt><dd>${about}</dd>`)}</dl>
  </details>`;
}

/** Says the same as the terminal says afterwards. */
function claimItem(claim: PermissionClaim, { group }: OfferedApi): Markup {
  const verdict = judgeClaim(claim, { group });
  const details = claimDetails(claim).map((detail) => html` ${detail}`);
  const warning = verdict.kind === "plain" ? "" : html` <strong>Warning: ${verdict.reason}.</strong>`;
  return html`<li>${claimInWords(claim)}${details.length === 0 ? "" : "."}${details}${warning}</li>`;
}

/** A claim as a sentence's end, for people who decide about it. */
function claimInWords(claim: PermissionClaim): string {
  const owner = claim.selector?.owner;
  const what =
    claim.group === undefined || claim.group === "" ? claim.resource : `${claim.resource}.${claim.group}`;
  const { names, namespaces, labels, fields } = claimedObjects(claim.selector);
  const one = (lead: string, texts: readonly string[]): readonly string[] =>
    texts.length === 0 ? [] : [` ${lead} ${texts.join(" or ")}`];
  const which = [
    ...one("called", names),
    ...one("with labels", labels),
    ...one("whose fields match", fields),
  ];
  const objects = `${what}${which.join(",")}`;
  const where = namespaces.length === 0 ? "your namespaces" : `namespace ${namespaces.join(" or ")}`;
  const need = claim.required === true ? " (required)" : "";
  if (owner === "Provider") return `place ${objects} in ${where}${need}`;
  if (owner === "Consumer") return `read ${objects} of ${where}${need}`;
  return `read and write ${objects} in ${where}${need}`;
}
