/** Plays the browser of a person who logs in and chooses an API: follows redirects, keeps cookies, fills in forms. */

/** A page that was loaded. */
interface Page {
  readonly url: URL;
  readonly html: string;
}

const maxSteps = 20;

/** A browser without windows. */
export class ScriptedBrowser {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** Loads a page, following redirects. */
  async open(url: string): Promise<Page> {
    return this.#go(new URL(url), { method: "GET" });
  }

  /** Sends the first form of the page that has all these texts, with more values filled in. */
  async submit(
    page: Page,
    markers: readonly string[],
    values: Readonly<Record<string, string>>,
  ): Promise<Page> {
    const forms = [...page.html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)];
    const form = forms.find((match) => markers.every((marker) => match[0].includes(marker)));
    if (form === undefined)
      throw new Error(
        `no form with ${markers.join(" and ")} at ${page.url.origin}${page.url.pathname}: ${textOf(page.html)}`,
      );
    const action = attribute(form[1] ?? "", "action");
    const fields = new URLSearchParams();
    for (const [, input = ""] of (form[2] ?? "").matchAll(/<input\b([^>]*)>/g)) {
      const name = attribute(input, "name");
      if (name !== "") fields.set(name, attribute(input, "value"));
    }
    for (const [name, value] of Object.entries(values)) fields.set(name, value);
    const target = action === "" ? page.url : new URL(action, page.url);
    return this.#go(target, {
      method: "POST",
      body: fields.toString(),
      headers: { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" },
    });
  }

  async #go(url: URL, init: RequestInit): Promise<Page> {
    let current = url;
    let request = init;
    for (let step = 0; step < maxSteps; step++) {
      const headers = new Headers(request.headers);
      headers.set(
        "cookie",
        [...(this.#cookies.get(current.host) ?? [])].map(([name, value]) => `${name}=${value}`).join("; "),
      );
      const response = await fetch(current, { ...request, headers, redirect: "manual" });
      this.#keepCookies(current, response);
      const location = response.headers.get("location");
      if (location === null) {
        const html = await response.text();
        if (!response.ok)
          throw new Error(
            `${current.origin}${current.pathname} answered ${response.status}: ${textOf(html)}`,
          );
        return { url: current, html };
      }
      current = new URL(location, current);
      request = { method: "GET" };
    }
    throw new Error(`more than ${maxSteps} redirects from ${url.origin}`);
  }

  #keepCookies(url: URL, response: Response): void {
    const jar = this.#cookies.get(url.host) ?? new Map<string, string>();
    this.#cookies.set(url.host, jar);
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = ""] = cookie.split(";");
      const split = pair.indexOf("=");
      jar.set(pair.slice(0, split), pair.slice(split + 1));
    }
  }
}

function attribute(tag: string, name: string): string {
  const match = new RegExp(`\\b${name}="([^"]*)"`).exec(tag);
  return (match?.[1] ?? "").replaceAll("&amp;", "&").replaceAll("&quot;", '"');
}

/** The words of a page, for messages. */
function textOf(html: string): string {
  return html
    .replaceAll(/<(style|script|head)\b[\s\S]*?<\/\1>/g, " ")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, 300);
}
