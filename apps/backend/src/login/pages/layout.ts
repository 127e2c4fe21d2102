/** The frame of every page. */
import { html } from "hono/html";

/** HTML that has been escaped. */
export type Markup = ReturnType<typeof html>;

/** A whole page. */
export function layout(title: string, prettyName: string, content: Markup): Markup {
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${title} – ${prettyName}</title>
    <link rel="stylesheet" href="/style.css" />
  </head>
  <body>
    <header><span class="mark" aria-hidden="true">K</span><span>${prettyName}</span></header>
    <main>${content}</main>
    <footer>Klutch shares the APIs of this control plane with your cluster.</footer>
  </body>
</html>`;
}
