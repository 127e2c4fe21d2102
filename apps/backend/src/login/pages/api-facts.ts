/** Says on a page all that a person needs to know of an API before binding it. */
import { claimDetails, claimedObjects, judgeClaim, type PermissionClaim } from "@klutch/api";
import { monthText, type OfferedPrice } from "@klutch/services/prices";
import { html } from "hono/html";
import type { OfferedApi } from "../../offered-api.ts";
import type { GroupedOffer } from "./grouped-offers.ts";
import type { Markup } from "./layout.ts";

/** Returns the name, the description, the settings and the permission claims of an API, and the kinds that go with it. */
export function apiFacts({ offer, needs, usedBy }: GroupedOffer): Markup {
  return html`<p class="soft"><code>${offer.resource}.${offer.group}</code>, ${offer.scope === "Namespaced" ? "in namespaces" : "for the whole cluster"}</p>
    ${offer.description === "" ? "" : html`<p>${offer.description}</p>`}
    ${needs.map((kinds) => html`<p class="soft">Works on an object of ${oneOf(kinds)}. Bind that, too.</p>`)}
    ${usedBy.length === 0 ? "" : html`<p class="soft">Often bound with it: ${usedBy.join(", ")}.</p>`}
    ${offer.prices === undefined ? "" : priceList(offer.prices)}
    ${offer.fields.length === 0 ? "" : settings(offer)}
    ${
      offer.permissionClaims.length === 0
        ? html`<p class="soft">It asks for no other objects of your cluster.</p>`
        : html`<p>It also asks to</p>
            <ul class="facts">${offer.permissionClaims.map((claim) => claimItem(claim, offer))}</ul>`
    }`;
}

function oneOf(kinds: readonly string[]): string {
  return new Intl.ListFormat("en", { type: "disjunction" }).format(kinds);
}

/** Renders the prices, the lowest one in sight where one can be told: amounts of two currencies cannot be compared. */
function priceList(prices: readonly OfferedPrice[]): Markup {
  const [first] = prices.toSorted(
    (one, other) => Number(one.perMonth.amount) - Number(other.perMonth.amount),
  );
  const isOne = new Set(prices.map(({ perMonth }) => perMonth.currency)).size === 1;
  return html`<details>
    <summary>Prices of its plans${first !== undefined && isOne ? `: from ${monthText(first.perMonth)}` : ""}</summary>
    <ul class="facts">${prices.map(
      ({ plan, services, perMonth }) =>
        html`<li><code>${plan}</code>: ${monthText(perMonth)}${services.length === 0 ? "" : ` (${services.join(", ")})`}</li>`,
    )}</ul>
  </details>`;
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
