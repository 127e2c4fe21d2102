/** Keeps page, search, order and open row in the address, so that reload, back and a link to a colleague show the same. */
import type { Collection } from "@klutch/overview/console-wire";
import { useSyncExternalStore } from "react";
import { isCollection } from "./decode.ts";

export interface Route {
  /** Undefined at an address of no page. */
  readonly collection: Collection | undefined;
  readonly query: string;
  /** Id of the open row. */
  readonly row: string | undefined;
  /** Column to sort by, with a minus in front for descending. */
  readonly sort: string | undefined;
}

const base = "/console";
const backKey = "klutch-console-back";
const listeners = new Set<() => void>();
let known: { readonly address: string; readonly route: Route } | undefined;

/** Reads an address; the start page is the problems. */
export function parseRoute(path: string, search: string): Route {
  const word = path.slice(base.length).replaceAll("/", "");
  const parameters = new URLSearchParams(search);
  return {
    collection: word === "" ? "problems" : isCollection(word) ? word : undefined,
    query: parameters.get("q") ?? "",
    row: parameters.get("row") ?? undefined,
    sort: parameters.get("sort") ?? undefined,
  };
}

/** Writes the address of a route. */
export function addressOf({ collection, query, row, sort }: Partial<Route>): string {
  const parameters = new URLSearchParams();
  if (query !== undefined && query !== "") parameters.set("q", query);
  if (sort !== undefined) parameters.set("sort", sort);
  if (row !== undefined) parameters.set("row", row);
  const search = parameters.toString();
  return `${base}/${collection ?? "problems"}${search === "" ? "" : `?${search}`}`;
}

/** Goes to another page or row: a step that the browser's back button takes back. */
export function go(route: Partial<Route>): void {
  history.pushState(null, "", addressOf(route));
  tell();
}

/** Changes the address without such a step, as for each letter of a search. */
export function amend(route: Partial<Route>): void {
  history.replaceState(null, "", addressOf(route));
  tell();
}

/** Remembers the address in this tab over a login. */
export function rememberAddress(): void {
  sessionStorage.setItem(backKey, location.pathname + location.search);
}

/** Returns to the address that was left for a login. Only addresses of the console count. */
export function returnToAddress(): void {
  const address = sessionStorage.getItem(backKey);
  sessionStorage.removeItem(backKey);
  if (address?.startsWith(`${base}/`) !== true || parseRoute(location.pathname, "").collection !== "problems")
    return;
  history.replaceState(null, "", address);
}

function read(): Route {
  const address = location.pathname + location.search;
  if (known?.address !== address) known = { address, route: parseRoute(location.pathname, location.search) };
  return known.route;
}

function tell(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (listeners.size === 1) addEventListener("popstate", tell);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) removeEventListener("popstate", tell);
  };
}

export function useRoute(): Route {
  return useSyncExternalStore(subscribe, read);
}
