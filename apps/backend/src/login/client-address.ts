/** Finds the address that a request came from. */
import { getConnInfo } from "@hono/node-server/conninfo";
import type { Context } from "hono";

/** Reads the address of a request; undefined if it is unknown, as in tests without a socket. */
export type ClientAddress = (context: Context) => string | undefined;

/**
 * Takes the address of the connection. Behind `trustedProxies` proxies that each append to `X-Forwarded-For` it is the entry that the first of
 * them wrote; entries before it are the client's own words and count for nothing.
 */
export function createClientAddress(trustedProxies: number): ClientAddress {
  return (context) => {
    if (context.env === undefined || !("incoming" in Object(context.env))) return undefined;
    const direct = getConnInfo(context).remote.address;
    if (trustedProxies === 0) return direct;
    const hops = (context.req.header("x-forwarded-for") ?? "").split(",").map((hop) => hop.trim());
    return hops.at(-trustedProxies) || direct;
  };
}
