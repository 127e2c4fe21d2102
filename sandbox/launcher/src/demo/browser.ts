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
    values: Readonly<Record<string, string>> = {},
  ): Promise<Page> {
    const forms = [...page.html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)];
    const form = forms.find((match) => markers.every((marker) => match[0].includes(marker)));
    if (form === undefined) throw new Error(`no form with ${markers.join(" and ")} at ${textOf(page)}`);
    const [, tag = "", content = ""] = form;
    const inputs = [...content.matchAll(/<input\b([^>]*)>/g)].map(([input]) => input);
    const fields = Object.fromEntries(
      inputs.map((input) => [attribute(input, "name"), attribute(input, "value")]),
    );
    delete fields[""];
    return this.#go(new URL(attribute(tag, "action"), page.url), {
      method: "POST",
      body: new URLSearchParams({ ...fields, ...values }).toString(),
      headers: { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" },
    });
  }

  async #go(url: URL, init: RequestInit): Promise<Page> {
    let current = url;
    let request = init;
    for (let step = 0; step < maxSteps; step++) {
      const jar = this.#cookies.get(current.host) ?? new Map<string, string>();
      this.#cookies.set(current.host, jar);
      const headers = new Headers(request.headers);
      headers.set("cookie", [...jar].map(([name, value]) => `${name}=${value}`).join("; "));
      const response = await fetch(current, { ...request, headers, redirect: "manual" });
      for (const cookie of response.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=;]*)=([^;]*)/.exec(cookie) ?? [];
        jar.set(name, value);
      }
      const location = response.headers.get("location");
      if (location === null) {
        const page = { url: current, html: await response.text() };
        if (!response.ok) throw new Error(`answer ${response.status} from ${textOf(page)}`);
        return page;
      }
      current = new URL(location, current);
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
  return `${url.origin}${url.pathname}: ${words.trim().slice(0, 300)}`;
}
