/** Logs in at a backend as people's browsers do, without a browser. */

/** A page that was loaded. */
export interface Page {
  readonly url: URL;
  readonly html: string;
}

/** Options of a browser. */
export interface BrowserOptions {
  /** Origin that is not asked: a redirect to it ends the way, and is the page. Default: none. */
  readonly stopAt?: string | undefined;
  /** Called after each answer with its URL and the milliseconds that it took. */
  readonly onAnswer?: ((url: URL, tookMs: number) => void) | undefined;
}

const maxSteps = 20;

/** A browser without windows, which follows redirects, keeps cookies and fills in forms. */
export class ScriptedBrowser {
  readonly #cookies = new Map<string, string>();
  readonly #options: BrowserOptions;

  constructor(options: BrowserOptions = {}) {
    this.#options = options;
  }

  /** Loads a page, following redirects. */
  async open(url: string): Promise<Page> {
    return this.#go(new URL(url), { method: "GET" });
  }

  /** Sends the first form of the page that has all these texts, with these values in place of its own. */
  async submit(
    page: Page,
    markers: readonly string[],
    values: Readonly<Record<string, string>> = {},
  ): Promise<Page> {
    const forms = [...page.html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)];
    const form = forms.find((match) => markers.every((marker) => match[0].includes(marker)));
    if (form === undefined) throw new Error(`no form with ${markers.join(" and ")} at ${textOf(page)}`);
    const [, tag = "", content = ""] = form;
    const inputs = [...content.matchAll(/<input\b([^>]*)>/g)].map(([input]) => input);
    const pairs = inputs
      .filter((input) => !input.includes('type="checkbox"') || / checked\b/.test(input))
      .map((input) => [attribute(input, "name"), attribute(input, "value")])
      .filter(([name = ""]) => name !== "" && !Object.hasOwn(values, name));
    return this.#go(new URL(attribute(tag, "action"), page.url), {
      method: "POST",
      body: new URLSearchParams([...pairs, ...Object.entries(values)]).toString(),
      headers: { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" },
    });
  }

  async #go(url: URL, init: RequestInit): Promise<Page> {
    let current = url;
    let request = init;
    for (let step = 0; step < maxSteps; step++) {
      const headers = new Headers(request.headers);
      headers.set("cookie", [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; "));
      const askedAt = performance.now();
      const response = await fetch(current, { ...request, headers, redirect: "manual" });
      const html = await response.text();
      this.#options.onAnswer?.(current, performance.now() - askedAt);
      for (const cookie of response.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=;]*)=([^;]*)/.exec(cookie) ?? [];
        this.#cookies.set(name, value);
      }
      const location = response.headers.get("location");
      if (location === null) {
        const page = { url: current, html };
        if (!response.ok) throw new Error(`answer ${response.status} from ${textOf(page)}`);
        return page;
      }
      current = new URL(location, current);
      if (current.origin === this.#options.stopAt) return { url: current, html };
      request = { method: "GET" };
    }
    throw new Error(`more than ${maxSteps} redirects from ${url.origin}`);
  }
}

function attribute(tag: string, name: string): string {
  const match = new RegExp(`\\b${name}="([^"]*)"`).exec(tag);
  return (match?.[1] ?? "").replaceAll("&amp;", "&").replaceAll("&quot;", '"');
}

/** Returns the address of a page without its parameters, and its words. */
function textOf({ url, html }: Page): string {
  const words = html
    .replaceAll(/<(style|script|head)\b[\s\S]*?<\/\1>/g, " ")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ");
  return `${url.origin}${url.pathname}: ${words.trim().slice(0, 600)}`;
}
