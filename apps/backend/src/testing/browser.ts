/** A browser for tests: follows redirects, keeps cookies by host, fills in forms. */

/** Last response of a request and its URL. */
export interface Landed {
  readonly url: URL;
  readonly status: number;
  readonly html: string;
  readonly headers: Headers;
}

/** Cookies of one person. */
export class TestBrowser {
  /** Every URL that was requested. */
  readonly visited: string[] = [];
  readonly cookies: Map<string, Map<string, string>> = new Map<string, Map<string, string>>();

  /** Loads `url`; stops at a redirect to `stopAt` without following it. */
  async go(url: string, init: RequestInit = {}, stopAt?: string): Promise<Landed> {
    let current = new URL(url);
    let request = init;
    for (let step = 0; step < 20; step++) {
      this.visited.push(current.href);
      const jar = this.cookies.get(current.host) ?? new Map<string, string>();
      this.cookies.set(current.host, jar);
      const headers = new Headers(request.headers);
      headers.set("cookie", [...jar].map(([name, value]) => `${name}=${value}`).join("; "));
      const response = await fetch(current, { ...request, headers, redirect: "manual" });
      for (const cookie of response.headers.getSetCookie()) {
        // As browsers do (RFC 6265bis §5.6): a larger one is not kept.
        if (Buffer.byteLength(cookie) > 4_096) continue;
        const [pair = ""] = cookie.split(";");
        const split = pair.indexOf("=");
        if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(cookie)) jar.delete(pair.slice(0, split));
        else jar.set(pair.slice(0, split), pair.slice(split + 1));
      }
      const location = response.headers.get("location");
      const html = await response.text();
      if (location === null)
        return { url: current, status: response.status, html, headers: response.headers };
      current = new URL(location, current);
      if (stopAt !== undefined && current.href.startsWith(stopAt)) {
        return { url: current, status: response.status, html, headers: response.headers };
      }
      request = {};
    }
    throw new Error("too many redirects");
  }

  /** Sends the page's first form that contains `marker`. */
  async submit(
    page: Landed,
    marker: string,
    values: Readonly<Record<string, string>> = {},
    stopAt?: string,
  ): Promise<Landed> {
    const form = [...page.html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].find(([text]) =>
      text.includes(marker),
    );
    if (form === undefined) throw new Error(`no form with ${marker} at ${page.url.href}`);
    const fields = new URLSearchParams();
    for (const [, input = ""] of (form[2] ?? "").matchAll(/<input\b([^>]*)>/g)) {
      const name = /\bname="([^"]*)"/.exec(input)?.[1];
      if (name !== undefined) fields.set(name, /\bvalue="([^"]*)"/.exec(input)?.[1] ?? "");
    }
    for (const [name, value] of Object.entries(values)) fields.set(name, value);
    const action = /\baction="([^"]*)"/.exec(form[1] ?? "")?.[1]?.replaceAll("&amp;", "&") ?? "";
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    return this.go(
      new URL(action, page.url).href,
      { method: "POST", body: fields.toString(), headers },
      stopAt,
    );
  }
}
