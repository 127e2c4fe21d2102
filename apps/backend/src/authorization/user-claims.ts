/**
 * The user name and groups by which the RBAC of the control plane knows a person who logs in. The rules are those of kube-apiserver's own flags
 * `--oidc-username-claim` and so on (Kubernetes documentation, OpenID Connect Tokens), so that both may be configured alike.
 */
import { isRecord } from "@klutch/kube-core";
import { errors, type JWTPayload } from "jose";

/** Claims that name a person, and the prefixes of their values. */
export interface UserRules {
  /** Name of a claim. An address (`email`) counts only if the token calls it verified. */
  readonly usernameClaim: string;
  readonly usernamePrefix: string;
  /** Name of a claim, else a path with dots, such as `realm_access.roles`. */
  readonly groupsClaim: string;
  readonly groupsPrefix: string;
  /** True where RBAC decides nothing: names are for records only, and a token with others than the rules allow has none. Default false. */
  readonly isForRecords?: boolean | undefined;
}

/** A person as RBAC names them. */
export interface User {
  readonly user: string;
  readonly groups: readonly string[];
}

/** As the flags say it. */
export const defaultUserRules: UserRules = {
  usernameClaim: "sub",
  usernamePrefix: "oidc:",
  groupsClaim: "groups",
  groupsPrefix: "oidc:",
};

/** Begins names that only Klutch gives. */
const ofKlutch = "klutch:";

/** Returns an app cluster whose konnector binds by itself, as RBAC names it. */
export function appClusterUserOf(name: string): User {
  return { user: `${ofKlutch}app-cluster:${name}`, groups: [`${ofKlutch}app-clusters`] };
}

/** Limits of names, in characters, and of the number of groups: a token is not to fill the memory or a request to the API server. */
const longestName = 256;
const mostGroups = 10_000;

/** Reads both from a token whose signature was verified. Throws `JWTClaimValidationFailed`, which names the claim and never its value. */
export function userOf(claims: JWTPayload, rules: UserRules): User {
  return { user: userNameOf(claims, rules), groups: groupsOf(claims, rules) };
}

/** Returns what `name` reads; nothing for a token that breaks the rules where names are for records only, or without rules. */
export function namesBy(rules: UserRules | undefined, name: (rules: UserRules) => User): Partial<User> {
  if (rules === undefined) return {};
  try {
    return name(rules);
  } catch (error) {
    if (rules.isForRecords === true && error instanceof errors.JWTClaimValidationFailed) return {};
    throw error;
  }
}

/** Begins the name of a program, after the prefix of user names. */
const ofClients = "client:";

/** Returns a program as RBAC names it: `<prefix>client:<client id>`, with the groups of its token. */
export function clientUserOf(claims: JWTPayload, client: string, rules: UserRules): User {
  const user = named(claims, "client_id", rules.usernamePrefix, ofClients + client);
  return { user, groups: groupsOf(claims, rules) };
}

function userNameOf(claims: JWTPayload, { usernameClaim: claim, usernamePrefix: prefix }: UserRules): string {
  const value = claims[claim];
  if (typeof value !== "string" || value === "")
    throw wrong(claims, claim, `${kindOf(value)}, not a text: it is the user's name`);
  if (claim === "email" && claims["email_verified"] !== true)
    throw wrong(claims, claim, "not verified (email_verified is not true), so it cannot be the user's name");
  // People choose some names themselves, such as `preferred_username`.
  if (value.startsWith(ofClients))
    throw wrong(claims, claim, `a name that begins with ${ofClients}, which belongs to programs`);
  return named(claims, claim, prefix, value);
}

function groupsOf(
  claims: JWTPayload,
  { groupsClaim: claim, groupsPrefix: prefix }: UserRules,
): readonly string[] {
  const value = valueOf(claims, claim);
  if (value === undefined || value === null) return [];
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length > mostGroups)
    throw wrong(claims, claim, `a list of ${list.length} groups; ${mostGroups} are allowed`);
  const groups = list.map((group) => {
    if (typeof group === "string") return named(claims, claim, prefix, group);
    const what = Array.isArray(value) ? `a list with ${kindOf(group)} in it` : kindOf(group);
    throw wrong(claims, claim, `${what}, not a text or a list of texts`);
  });
  return [...new Set(groups)];
}

/** An empty prefix must not let a token name what Kubernetes itself trusts. */
function named(claims: JWTPayload, claim: string, prefix: string, value: string): string {
  const name = prefix + value;
  if (value.length > longestName)
    throw wrong(claims, claim, `a name of ${value.length} characters; ${longestName} are allowed`);
  if (name.startsWith("system:"))
    throw wrong(claims, claim, "a name that begins with system:, which belongs to Kubernetes; set a prefix");
  if (name.startsWith(ofKlutch))
    throw wrong(
      claims,
      claim,
      `a name that begins with ${ofKlutch}, which belongs to app clusters; set a prefix`,
    );
  return name;
}

/** Returns the claim of this name, else the value at the path: names with dots (URLs) are usual, too. */
function valueOf(claims: JWTPayload, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name
    .split(".")
    .reduce<unknown>((at, key) => (isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined), claims);
}

function kindOf(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === "") return "empty";
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a${typeof value === "object" ? "n" : ""} ${typeof value}`;
}

function wrong(claims: JWTPayload, claim: string, what: string): errors.JWTClaimValidationFailed {
  return new errors.JWTClaimValidationFailed(`"${claim}" claim is ${what}`, claims, claim, "invalid");
}
