/** Says on a page who logged in and for which cluster, and why nothing is offered to them. */
import { html } from "hono/html";
import type { Session } from "../login-flow.ts";
import type { Markup } from "./layout.ts";

/** Says why the list is empty, and by which names an operator gives the right. */
export function nothingOffered({ user, groups = [] }: Pick<Session, "user" | "groups">): Markup {
  if (user === undefined)
    return html`<div class="card"><p>Nothing is offered yet. The platform operator offers an API with an <code>APIServiceExportTemplate</code>.</p></div>`;
  const known =
    groups.length === 0
      ? ", and your login names no group"
      : html` and in ${groups.map((group) => html`<code>${group}</code> `)}`;
  return html`<div class="card"><p>There is no API that you may bind here.</p>
    <p class="soft">The platform operator gives the right <code>bind</code> on an <code>APIServiceExportTemplate</code>. The control plane knows you as <code>${user}</code>${known}.</p></div>`;
}

/** Says for which cluster the page is and who logged in, as far as it is known. Both are only names. */
export function who({ clusterName, displayName }: Pick<Session, "clusterName" | "displayName">): Markup | "" {
  const facts = [
    ...(clusterName === undefined ? [] : [html`Cluster <strong>${clusterName}</strong>.`]),
    ...(displayName === undefined ? [] : [html` You are logged in as <strong>${displayName}</strong>.`]),
  ];
  return facts.length === 0 ? "" : html`<p class="who">${facts}</p>`;
}
