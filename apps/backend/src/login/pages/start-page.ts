/** Renders the page for a person who opens the backend's address in a browser. */
import { html } from "hono/html";
import { layout, type Markup } from "./layout.ts";

/** A page with the command that begins a login. `exportUrl`: the address that the command takes. */
export function startPage(prettyName: string, exportUrl: string): Markup {
  return layout(
    "Use it in your cluster",
    prettyName,
    html`<h1>Use the services of ${prettyName} in your cluster</h1>
      <div class="card">
        <p>Run this with the kubeconfig of your cluster. It opens the login, shows the offered APIs and asks before it changes anything.</p>
        <pre><code>kubectl bind ${exportUrl}</code></pre>
        <p class="soft">The plugin <code>kubectl-bind</code> must be on your PATH. Your platform operator says where to get it.</p>
      </div>`,
  );
}
