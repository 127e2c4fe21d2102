/** Allows plain HTTP only to this machine: elsewhere an eavesdropper could read codes and secrets, and replace keys. */

const loopbackHosts: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Returns true if the URL stays on this machine. */
export function isLoopback({ hostname }: URL): boolean {
  return loopbackHosts.has(hostname);
}

/** Returns why the text is neither an https URL nor an http URL of this machine; undefined if it is one. */
export function urlFault(text: string): string | undefined {
  if (!URL.canParse(text)) return "is not a URL";
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return "must not contain a user or a password";
  if (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url))) return undefined;
  return "must start with https:// (http:// only for localhost, 127.0.0.1 and [::1])";
}
