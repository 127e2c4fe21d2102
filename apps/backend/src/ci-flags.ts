/** Flags of the way in for programs, which bind with access tokens instead of a browser. */
import { type Flag, FlagFault, type FlagWords, type ValuesOf } from "@klutch/program";
import { scopes } from "./config-values.ts";
import type { CiRules } from "./login/access-token.ts";

/** The flags by name. */
export const ciFlags: {
  readonly "ci-clients": Flag<readonly string[]>;
  readonly "ci-scope": Flag<string>;
  readonly "ci-audience": Flag<readonly string[]>;
} = {
  "ci-clients": clientIds({
    help: "Client ID whose access tokens by client credentials may bind at /bind-noninteractive. Default: none, and that way is closed",
  }),
  "ci-scope": scope({ help: "Scope that such an access token must have", default: "klutch/bind" }),
  "ci-audience": clientIds({
    help: "Audience that such an access token may have, in addition to --oidc-issuer-client-id; one without an audience counts, too",
  }),
};

/** Returns the rules for access tokens; undefined if no program may bind. */
export function ciRulesOf(values: ValuesOf<typeof ciFlags>): CiRules | undefined {
  const clients = values["ci-clients"];
  if (clients.length === 0) return undefined;
  return { clients, scope: values["ci-scope"], audiences: values["ci-audience"] };
}

/** Any number of client ids or audiences, as identity providers have them. */
function clientIds(words: FlagWords): Flag<readonly string[]> {
  return {
    value: "id",
    repeats: true,
    ...words,
    read(given) {
      for (const id of given)
        if (!/^[\x21-\x7E]{1,200}$/.test(id))
          throw new FlagFault("must be an id of 1 to 200 visible ASCII characters, such as tenant-a");
      return given;
    },
  };
}

/** One scope, as RFC 6749 §3.3 has it. */
function scope(words: FlagWords & { readonly default: string }): Flag<string> {
  const { repeats: _repeats, ...list } = scopes(words);
  return { ...list, read: (given) => list.read(given)[0] ?? "" };
}
