/** Runs one exchange with a server of a registry, and reads its answer. */
import { OciError } from "./errors.ts";

/** Sends it unchanged. Throws `OciError` without an answer; a failure names only the server, because URLs may hold secrets. */
export async function exchange(
  url: string,
  request: RequestInit,
  authorization: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const headers = new Headers(request.headers);
  if (authorization !== undefined) headers.set("authorization", authorization);
  try {
    return await fetch(url, { ...request, headers, ...(signal === undefined ? {} : { signal }) });
  } catch (cause) {
    signal?.throwIfAborted();
    throw new OciError(`the registry at ${new URL(url).origin} cannot be reached${reasonOf(cause)}`, {
      cause,
    });
  }
}

/** Returns Node's code of the failure, such as ECONNREFUSED: it holds nothing of the request. For certificates also the next step. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return "";
  if (!("code" in error) || typeof error.code !== "string") return reasonOf(error.cause);
  const authority = /CERT|VERIFY/.test(error.code)
    ? "; name its authority's file in NODE_EXTRA_CA_CERTS"
    : "";
  return ` (${error.code}${authority})`;
}

/** Returns the body up to this number of bytes; undefined if it is longer. Throws `OciError` if it breaks off. */
export async function bodyOf(response: Response, most: number): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const body: AsyncIterable<Uint8Array> | undefined = response.body ?? undefined;
  try {
    for await (const part of body ?? []) {
      size += part.length;
      if (size > most) return undefined;
      parts.push(part);
    }
  } catch (cause) {
    // What ends an exchange on purpose has a reason of its own.
    if (!(cause instanceof TypeError)) throw cause;
    throw new OciError(`the answer of the registry at ${new URL(response.url).origin} broke off`, { cause });
  }
  return Buffer.concat(parts);
}
