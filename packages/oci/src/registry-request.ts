/** Sends one request to a registry, with the login that it asks for. */
import { OciError } from "./errors.ts";
import { bodyOf, exchange } from "./exchange.ts";
import type { RegistryLogin } from "./login.ts";

/** Whom a request is for. */
export interface RegistryTarget {
  /** Base URL, such as `http://127.0.0.1:5000`. */
  readonly registry: string;
  /** Path of the repository, such as `klutch/function-klutch`. */
  readonly repository: string;
  /** Login for registries that ask for one. Default: none. */
  readonly login?: RegistryLogin | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends the request. If the registry asks for a login, sends it once more with one. Other servers that the registry names get no
 * credentials. Throws `OciError` without an answer or if the login is refused.
 */
export async function send(url: string, request: RequestInit, target: RegistryTarget): Promise<Response> {
  const { registry, repository, login, signal } = target;
  const isOwn = new URL(url).origin === new URL(registry).origin;
  const first = await exchange(url, request, isOwn ? login?.header(repository) : undefined, signal);
  if (first.status !== 401 || !isOwn) return first;
  await first.body?.cancel();
  if (login === undefined) throw new OciError(`the registry ${registry} wants a login for ${repository}`);
  await login.answer(first.headers.get("www-authenticate") ?? "", repository, signal);
  const second = await exchange(url, request, login.header(repository), signal);
  if (second.status === 401)
    throw new OciError(`the registry ${registry} does not accept the login for ${repository}; log in again`);
  return second;
}

/** Maximum number of bytes to read of a refusal. */
const longestRefusal = 64 * 1024;

/** The error for an answer that is none of those wanted, with the registry's words as far as they can be shown. */
export async function failure(
  what: string,
  target: RegistryTarget & { readonly tag: string },
  response: Response,
): Promise<OciError> {
  const { registry, repository, tag, login } = target;
  const text = Buffer.from((await bodyOf(response, longestRefusal)) ?? []).toString();
  // They may hold what we sent, and sequences that terminals obey.
  const words = (login?.redacted(text) ?? text).replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, 300);
  return new OciError(
    `the registry ${registry} refused the ${what} of ${repository}:${tag}: HTTP ${response.status} ${words}`.trimEnd(),
  );
}
