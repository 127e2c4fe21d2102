/** Renders the page for a failed request. */
import { html } from "hono/html";
import { layout, type Markup } from "./layout.ts";

/** A page that says what happened and what to do. */
export function errorPage(prettyName: string, message: string, advice: string): Markup {
  return layout(
    "Something went wrong",
    prettyName,
    html`<h1>Something went wrong</h1>
      <div class="card problem" role="alert"><p>${message}</p><p class="soft">${advice}</p></div>`,
  );
}
