/**
 * The wish of a plugin that takes several APIs of one login: the parameter `m` of /authorize. It selects APIs on the page in advance, and the
 * person decides. Plugins without it get one API of a login.
 *
 * | `m`                       | selects                                                                     |
 * |---------------------------|-----------------------------------------------------------------------------|
 * | `1`                       | nothing                                                                     |
 * | `all`                     | every API that the person may bind                                          |
 * | `service=<service>`       | a data service: its instances and the kinds that work on them               |
 * | `apis=<name>,<name>`      | APIs, each as `<resource>.<group>`, or as `<resource>` where that is unique |
 */
import { isDnsSubdomain, plainText } from "@klutch/kube-core";
import { WireError } from "./wire-fields.ts";

/** Maximum number of APIs that one login binds. */
export const mostApisOfLogin = 50;
/** Maximum length of a wish: it travels in a cookie with everything else that a login holds. */
export const longestWish = 600;

/** APIs that the page of a login selects in advance. */
export type LoginWish =
  | { readonly kind: "none" }
  | { readonly kind: "all" }
  | { readonly kind: "service"; readonly service: string }
  | { readonly kind: "apis"; readonly names: readonly string[] };

/** Returns the value of `m`. */
export function wishText(wish: LoginWish): string {
  switch (wish.kind) {
    case "none":
      return "1";
    case "all":
      return "all";
    case "service":
      return `service=${wish.service}`;
    case "apis":
      return `apis=${wish.names.join(",")}`;
  }
}

/** Reads a value of `m`. Throws `WireError` that says what would be right. */
export function readWish(value: string): LoginWish {
  if (value === "1") return { kind: "none" };
  if (value === "all") return { kind: "all" };
  const [, word, rest = ""] = /^(service|apis)=(.*)$/s.exec(value) ?? [];
  if (word === undefined)
    throw new WireError(
      "m",
      `is ${shown(value)}; it must be 1, all, service=<service> or apis=<name>,<name>`,
    );
  const wish: LoginWish =
    word === "service" ? { kind: "service", service: rest } : { kind: "apis", names: rest.split(",") };
  const problem = wishProblem(wish);
  if (problem !== undefined) throw new WireError("m", problem);
  return wish;
}

/** Returns why no login can have the wish, as a clause whose subject is the parameter or the flag; undefined if one can. */
export function wishProblem(wish: LoginWish): string | undefined {
  if (wish.kind === "service" && !/^[\w.-]{1,253}$/.test(wish.service))
    return `names the service ${shown(wish.service)}; write one such as postgresql`;
  const problem = wish.kind === "apis" ? namesProblem(wish.names) : undefined;
  const { length } = wishText(wish);
  return problem ?? (length <= longestWish ? undefined : tooLong(length));
}

function namesProblem(names: readonly string[]): string | undefined {
  if (names.length > mostApisOfLogin)
    return `names ${names.length} APIs; one login binds at most ${mostApisOfLogin}`;
  const wrong = names.find((name) => !/^[a-z]/.test(name) || !isDnsSubdomain(name));
  if (wrong !== undefined)
    return `names the API ${shown(wrong)}; write <resource>.<group>, such as postgresqlinstances.anynines.com`;
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  return twice === undefined ? undefined : `names ${twice} twice; name each API once`;
}

function tooLong(length: number): string {
  return `has ${length} characters, and a login has room for ${longestWish}; name fewer APIs, or a service`;
}

function shown(text: string): string {
  return JSON.stringify(plainText(text, 80));
}
