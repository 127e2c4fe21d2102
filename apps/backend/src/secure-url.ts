/** Plain HTTP only to this machine: everywhere else somebody on the way could read codes and secrets, and put in keys of his own. */

const loopbackHosts: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Whether the URL stays on this machine. */
export function isLoopback({ hostname }: URL): boolean {
  return loopbackHosts.has(hostname);
}

/** Why the text is not an https URL, nor an http one of this machine; undefined when it is. */
export function urlFault(text: string): string | undefined {
  if (!URL.canParse(text)) return "is not a URL";
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return "must not contain a user or a password";
  if (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url))) return undefined;
  return "must start with https:// (http:// only for localhost, 127.0.0.1 and [::1])";
}
