/** The page on which a person chooses what to bind. */
import { claimedObjects, type PermissionClaim } from "@klutch/api";
import { html } from "hono/html";
import type { OfferedApi } from "../../offered-api.ts";
import { layout, type Markup } from "./layout.ts";

/** Content of the page. */
export interface ResourcesPage {
  readonly prettyName: string;
  readonly sessionId: string;
  readonly csrf: string;
  readonly offers: readonly OfferedApi[];
}

export function resourcesPage(page: ResourcesPage): Markup {
  const { prettyName, offers } = page;
  const list =
    offers.length === 0
      ? html`<div class="card"><p>Nothing is offered yet. The platform operator offers an API with an <code>APIServiceExportTemplate</code>.</p></div>`
      : html`<ul class="apis">${offers.map((offer) => card(page, offer))}</ul>`;
  return layout(
    "Choose an API",
    prettyName,
    html`<h1>Choose an API for your cluster</h1>
      <p class="soft">Your cluster gets the API as if it were its own. You are asked once more in the terminal before anything is shared.</p>
      ${list}`,
  );
}

function card(page: ResourcesPage, offer: OfferedApi): Markup {
  const id = `api-${offer.resource}-${offer.group.replaceAll(".", "-")}`;
  return html`<li>
    <form class="card" method="post" action="/bind" aria-labelledby="${id}">
      <h2 id="${id}">${offer.kind}</h2>
      <p class="soft"><code>${offer.resource}.${offer.group}</code>, ${offer.scope === "Namespaced" ? "in namespaces" : "for the whole cluster"}</p>
      ${offer.description === "" ? "" : html`<p>${offer.description}</p>`}
      ${offer.fields.length === 0 ? "" : settings(offer)}
      ${
        offer.permissionClaims.length === 0
          ? html`<p class="soft">It needs nothing else from your cluster.</p>`
          : html`<p>It also asks to</p>
              <ul class="facts">${offer.permissionClaims.map((claim) => html`<li>${claimInWords(claim)}</li>`)}</ul>`
      }
      <input type="hidden" name="s" value="${page.sessionId}" />
      <input type="hidden" name="csrf" value="${page.csrf}" />
      <input type="hidden" name="resource" value="${offer.resource}" />
      <input type="hidden" name="group" value="${offer.group}" />
      <button type="submit" class="${offer.resource}">Bind ${offer.kind}</button>
    </form>
  </li>`;
}

/** Renders the fields as `kubectl explain` shows them after binding, because plans are chosen before that. */
function settings({ kind, fields }: OfferedApi): Markup {
  return html`<details>
    <summary>What a ${kind} can be</summary>
    <dl>${fields.map(({ name, about }) => html`<dt><code>${name}</code></dt><dd>${about}</dd>`)}</dl>
  </details>`;
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
