/** The APIs that a person may bind: the offered ones for which the control plane's RBAC gives them the right. */
import { crdNameOf, type TemplateReference } from "@klutch/api";
import { UserError } from "../errors.ts";
import type { ExportTemplates, UnavailableApi } from "../export-templates.ts";
import type { Person } from "../identity.ts";
import type { User } from "./user-claims.ts";
import type { OfferedApi } from "../offered-api.ts";
import type { MayBind } from "./bind-rights.ts";

/** An API by its group and resource. */
export interface Api {
  readonly resource: string;
  readonly group: string;
}

/** Answers for one backend. */
export interface AllowedOffers {
  /** Returns what the person may bind. */
  visible(person: Person): Promise<readonly OfferedApi[]>;
  /** Returns APIs that the person may bind, and that are not offered now. */
  unavailable(person: Person): Promise<readonly UnavailableApi[]>;
  /** Returns the offer. Throws `UserError` 404 if there is none, and 403 if the person may not bind it. */
  require(person: Person, api: Api): Promise<OfferedApi>;
}

/** Creates the answers. Without `mayBind`, everybody who can log in may bind everything. */
export function createAllowedOffers(parts: {
  readonly exportTemplates: Pick<ExportTemplates, "list" | "find" | "unavailable">;
  readonly mayBind: MayBind | undefined;
  readonly signal: AbortSignal;
}): AllowedOffers {
  const { exportTemplates, mayBind, signal } = parts;
  const allowedOf = async <T extends { readonly template: TemplateReference }>(
    person: Person,
    apis: readonly T[],
  ): Promise<readonly T[]> => {
    if (mayBind === undefined) return apis;
    const user = userOf(person);
    const allowed = await Promise.all(apis.map(({ template }) => mayBind(user, template, signal)));
    return apis.filter((_, index) => allowed[index] === true);
  };
  return {
    visible: (person) => allowedOf(person, exportTemplates.list()),
    unavailable: (person) => allowedOf(person, exportTemplates.unavailable()),
    async require(person, api) {
      const offer = requireOffered(exportTemplates, api);
      if (mayBind === undefined) return offer;
      const user = userOf(person);
      if (await mayBind(user, offer.template, signal)) return offer;
      const { namespace, name } = offer.template;
      throw new UserError(
        403,
        `${user.user} may not bind ${crdNameOf(api)}.`,
        `Ask the platform operator for the right: verb bind on the APIServiceExportTemplate ${name} in namespace ${namespace}.`,
      );
    },
  };
}

/** Returns the offer of the API. Throws `UserError` 404. */
function requireOffered(exportTemplates: Pick<ExportTemplates, "find">, api: Api): OfferedApi {
  const offer = exportTemplates.find(api.group, api.resource);
  if (offer !== undefined) return offer;
  throw new UserError(
    404,
    `${crdNameOf(api)} is not offered here.`,
    "Choose one of the APIs that the binding page shows.",
    { outcome: "NotOffered" },
  );
}

/** Logins that a backend of an earlier release sealed have no user name. */
function userOf({ user, groups = [] }: Person): User {
  if (user !== undefined) return { user, groups };
  throw new UserError(
    401,
    "Your login is from another version of the backend.",
    "Start again with kubectl bind.",
  );
}
