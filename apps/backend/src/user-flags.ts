/** Flags that say by which names the control plane's RBAC knows people: those of kube-apiserver's own OIDC login. */
import { type Flag, optionalText, type ValuesOf } from "@klutch/program";
import { defaultUserRules, type UserRules } from "./authorization/user-claims.ts";

type Name = "oidc-username-claim" | "oidc-username-prefix" | "oidc-groups-claim" | "oidc-groups-prefix";

/** The flags by name. */
export const userFlags: Readonly<Record<Name, Flag<string | undefined>>> = {
  "oidc-username-claim": optionalText({
    help: "Claim with the user name for RBAC; email counts only if it is verified. Default: sub",
  }),
  "oidc-username-prefix": optionalText({ help: "Prefix of user names in RBAC, - for none. Default: oidc:" }),
  "oidc-groups-claim": optionalText({
    help: "Claim with the groups for RBAC, or a path with dots such as realm_access.roles. Default: groups",
  }),
  "oidc-groups-prefix": optionalText({ help: "Prefix of groups in RBAC, - for none. Default: oidc:" }),
};

/** As kube-apiserver has it, a prefix of `-` means none. */
export function userRulesOf(
  values: ValuesOf<typeof userFlags> & { readonly "bind-authorization": "everyone" | "rbac" },
): UserRules {
  const prefix = (given: string | undefined): string | undefined => (given === "-" ? "" : given);
  return {
    usernameClaim: values["oidc-username-claim"] ?? defaultUserRules.usernameClaim,
    usernamePrefix: prefix(values["oidc-username-prefix"]) ?? defaultUserRules.usernamePrefix,
    groupsClaim: values["oidc-groups-claim"] ?? defaultUserRules.groupsClaim,
    groupsPrefix: prefix(values["oidc-groups-prefix"]) ?? defaultUserRules.groupsPrefix,
    isForRecords: values["bind-authorization"] !== "rbac",
  };
}
