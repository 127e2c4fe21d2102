/** Reads lists of the API server with a tenant's token, a page at a time, for watches that begin with the objects of this moment. */
import { TransportError, type Transport } from "@klutch/kube";
import { type ListBytes, readList } from "./json-bytes.ts";
import type { CollectionRequest } from "./request.ts";

/** Tenant that asks. */
export interface PageReader {
  readonly transport: Pick<Transport, "send">;
  readonly authorization: string;
  readonly signal: AbortSignal;
}

/** Objects of a page. A page that is too long is asked for again with fewer. */
const pageObjects = [500, 50, 5];
/** Five objects of the longest that API servers take. */
const longestPage = 16 * 1024 * 1024;

/** Returns the page at a continue token, the first one without; undefined if there is none in the form expected. */
export async function readPage(
  { transport, authorization, signal }: PageReader,
  { group, version, plural, namespace }: CollectionRequest,
  token = "",
): Promise<ListBytes | undefined> {
  const scope = namespace === undefined ? "" : `/namespaces/${namespace}`;
  for (const limit of pageObjects) {
    const query = new URLSearchParams({
      limit: String(limit),
      ...(token === "" ? {} : { continue: token }),
    });
    const path = `/apis/${group}/${version}${scope}/${plural}?${query.toString()}`;
    const headers = { authorization };
    const response = await transport.send({ method: "GET", path, headers, isLarge: true, signal });
    if (response.status !== 200) {
      await response.discard();
      return undefined;
    }
    try {
      return readList(Buffer.from(await response.text(longestPage)));
    } catch (error) {
      if (!(error instanceof TransportError && error.code === "TooLarge")) throw error;
    }
  }
  return undefined;
}

/**
 * Yields the objects of a page and of those after it, and then gives the turn back. Throws when a page is missing: then the watch breaks off, and
 * its reader begins again.
 */
export async function* pagesOf(
  reader: PageReader,
  request: CollectionRequest,
  first: ListBytes,
  turn: Disposable,
): AsyncGenerator<readonly Buffer[]> {
  using _turn = turn;
  let page = first;
  for (;;) {
    yield page.items.map(({ object }) => object);
    if (page.continueToken === "") return;
    const next = await readPage(reader, request, page.continueToken);
    if (next === undefined) throw new Error("a page of a list is missing");
    page = next;
  }
}
