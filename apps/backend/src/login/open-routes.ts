/** Serves programs instead of browsers: bounded by `Admission`, JSON in and out, never cached. */
import { WireError } from "@klutch/api";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { UserError } from "../errors.ts";
import type { Admission } from "./admission.ts";
import type { ClientAddress } from "./client-address.ts";

/** Decides whether a request goes on. */
export interface Gate {
  readonly admit: Admission;
  readonly addressOf: ClientAddress;
}

/** Returns the answer that holds a request off; undefined if it goes on. */
export function heldOff({ admit, addressOf }: Gate, context: Context): Response | undefined {
  if (admit(addressOf(context))) return undefined;
  context.header("Retry-After", "2");
  return jsonAnswer(context, 429, { error: "too many requests" });
}

/** Answers with JSON that no one keeps. */
export function jsonAnswer(
  context: Context,
  status: ContentfulStatusCode,
  body: Readonly<Record<string, string>>,
): Response {
  context.header("Cache-Control", "no-store");
  return context.json(body, status);
}

/** Answers a request whose body is larger than any that these routes take. */
export function tooLarge(context: Context): Response {
  const error = `The body is larger than ${largestBody / 1024} KiB.`;
  return jsonAnswer(context, 413, { error, advice: "Send less at once." });
}

/** Limit of a request's body, in bytes. */
export const largestBody: number = 64 * 1024;

/** Reads the body with `decode`. Throws `UserError` 400 that names the fault, with this advice. */
export async function requestOf<T>(
  context: Context,
  decode: (value: unknown) => T,
  advice: string,
): Promise<T> {
  try {
    return decode(await context.req.json());
  } catch (error) {
    if (error instanceof SyntaxError) throw new UserError(400, "The body is not JSON.", advice);
    if (error instanceof WireError) throw new UserError(400, `${error.message}.`, advice);
    throw error;
  }
}

/** Reads the body with `decode`; undefined if it is malformed. */
export async function bodyOf<T>(context: Context, decode: (value: unknown) => T): Promise<T | undefined> {
  try {
    return decode(await context.req.json());
  } catch (error) {
    if (error instanceof WireError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
