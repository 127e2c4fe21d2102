/** The requests of the pages to the console's server. */
import type {
  ActionDone,
  ActionRequest,
  Collection,
  ConsoleError,
  OfferedAction,
  Viewer,
} from "@klutch/overview/console-wire";
import {
  decodeDone,
  decodeError,
  decodeExplanation,
  decodeOffered,
  decodeRows,
  decodeViewer,
  type Row,
} from "./decode.ts";
import type { Explanation } from "@klutch/overview/explanation";

/** Base of the wire, on the page's own origin. */
export const api = "/console/api";

/** A request that was answered with an error, or not at all (`status` 0). */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly status: number;
  readonly words: ConsoleError;
  constructor(status: number, words: ConsoleError, cause?: unknown) {
    super(words.error, { cause });
    this.status = status;
    this.words = words;
  }
}

export async function fetchViewer(signal?: AbortSignal): Promise<Viewer> {
  return decodeViewer(await getJson("/viewer", signal));
}

export async function fetchRows(collection: Collection, signal?: AbortSignal): Promise<readonly Row[]> {
  return decodeRows(await getJson(`/rows/${collection}`, signal), collection);
}

/** The claim that an explanation is wanted of. */
export interface ClaimKey {
  readonly api: string;
  readonly tenant: string;
  readonly namespace: string;
  readonly name: string;
}

export async function fetchExplanation(claim: ClaimKey, signal?: AbortSignal): Promise<Explanation> {
  const query = new URLSearchParams({ ...claim });
  return decodeExplanation(await getJson(`/explain?${query.toString()}`, signal));
}

/** Returns the actions that the person may do to the object behind a row. */
export async function fetchActions(
  collection: Collection,
  row: string,
  signal?: AbortSignal,
): Promise<readonly OfferedAction[]> {
  const query = new URLSearchParams({ collection, row });
  return decodeOffered(await getJson(`/actions?${query.toString()}`, signal));
}

/** Confirms an offered action. */
export async function postAction({ name, token }: OfferedAction, row: string): Promise<ActionDone> {
  const body: ActionRequest = { row, token };
  const headers = { accept: "application/json", "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  return decodeDone(await jsonOf(await reach(`/console/actions/${name}`, init)));
}

/** Ends the session at every replica. */
export async function postLogout(): Promise<void> {
  const { ok, status } = await fetch("/console/logout", { method: "POST" });
  if (ok || status === 401) return;
  const words = { error: "You could not be logged out.", advice: "Try again in a minute." };
  throw new RequestError(status, words);
}

/** Turns any failure into words for the person. */
export function wordsOf(error: unknown): ConsoleError {
  if (error instanceof RequestError) return error.words;
  return { error: error instanceof Error ? error.message : String(error), advice: "Reload the page." };
}

async function getJson(path: string, signal?: AbortSignal): Promise<unknown> {
  const headers = { accept: "application/json" };
  return jsonOf(await reach(api + path, { headers, ...(signal !== undefined && { signal }) }));
}

async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text();
  const value = parse(text);
  if (response.ok && value !== undefined) return value;
  const otherwise = {
    error: response.ok
      ? "The console's server sent an answer that is not JSON."
      : `The console's server answered with HTTP ${response.status}.`,
    advice: "Try again in a minute; if it stays, ask your operator for the backend's log.",
  };
  throw new RequestError(response.status, response.ok ? otherwise : decodeError(value, otherwise));
}

async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, init);
  } catch (error) {
    const words = {
      error: "The console's server cannot be reached.",
      advice: "Check your network; the page tries again by itself.",
    };
    throw new RequestError(0, words, error);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
