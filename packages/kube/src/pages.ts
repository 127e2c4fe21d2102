/** A list page by page, with pages that are neither many nor large, whatever the objects weigh. */
import type { KubeObject, ResourceType } from "@klutch/kube-core";
import { TransportError } from "./errors.ts";
import type { KubeClient, ListOptions, ListPage } from "./types.ts";

const firstLimit = 32;
const largestLimit = 1000;
/** Characters. One page is parsed at once, so it is also the longest time for which the event loop stands still. */
const wantedLength = 2 * 1024 * 1024;

/** Two thousand pages are two million small objects, or four gibibytes of others. */
const mostPages = 2_000;
/** Pages in a row on which nothing matched: API servers fill them. */
const mostEmptyPages = 100;

/**
 * Yields the pages of a list, all of one version. The next page is on its way while the caller works on the last one. Without `limit`
 * each page requests the number of objects that made about two mebibytes of the page before. Throws `TransportError` with code `Endless` for a
 * list that does not come to an end.
 */
export async function* listPages<T extends KubeObject>(
  client: Pick<KubeClient, "list">,
  type: ResourceType,
  options: ListOptions = {},
): AsyncGenerator<ListPage<T>> {
  let limit = options.limit ?? firstLimit;
  let token = options.continueToken;
  let next: Promise<ListPage<T>> | undefined = client.list<T>(type, { ...options, limit });
  let empty = 0;
  for (let pages = 1; next !== undefined; pages++) {
    const asked = limit;
    const page: ListPage<T> = await next.catch((error: unknown) => {
      if (!isTooLarge(error) || asked === 1 || options.limit !== undefined) throw error;
      return smaller<T>(client, type, { ...options, continueToken: token }, asked);
    });
    const { continueToken } = page;
    empty = page.items.length === 0 ? empty + 1 : 0;
    if (continueToken !== undefined && (pages === mostPages || empty === mostEmptyPages))
      throw endless(type, pages);
    token = continueToken;
    limit = options.limit ?? limitAfter(page, limit);
    next =
      continueToken === undefined ? undefined : client.list<T>(type, { ...options, limit, continueToken });
    // It is thrown when it is waited for; a caller may stop before.
    next?.catch(() => undefined);
    yield page;
  }
}

/** A page that was too long is asked for again with fewer objects, down to one. */
async function smaller<T extends KubeObject>(
  client: Pick<KubeClient, "list">,
  type: ResourceType,
  options: ListOptions,
  tooMany: number,
): Promise<ListPage<T>> {
  const limit = Math.max(1, Math.floor(tooMany / 8));
  try {
    return await client.list<T>(type, { ...options, limit });
  } catch (error) {
    if (!isTooLarge(error) || limit === 1) throw error;
    return smaller<T>(client, type, options, limit);
  }
}

function endless({ plural }: ResourceType, pages: number): TransportError {
  const message = `list ${plural}: the server sent ${pages} pages and names one more each time, so the list was given up`;
  return new TransportError("Endless", message);
}

function isTooLarge(error: unknown): boolean {
  return error instanceof TransportError && error.code === "TooLarge";
}

/** Never many times as many as before: the next objects may be larger than those seen. */
function limitAfter({ items, length }: ListPage<KubeObject>, limit: number): number {
  const most = Math.min(limit * 8, largestLimit);
  // With a selector a page may hold nothing and yet not be the last.
  if (items.length === 0) return most;
  return Math.max(1, Math.min(Math.floor((wantedLength * items.length) / Math.max(1, length)), most));
}
