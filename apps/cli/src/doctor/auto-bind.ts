/** The konnector's rights on API groups whose APIs it binds by itself (designs/0034-additions.md), as the chart writes them. */
import {
  autoBindAnnotation,
  autoBindManifests,
  autoBindRole,
  isAutoBindApi,
  parseAutoBind,
} from "@klutch/api";
import type { PolicyRule, Role } from "@klutch/kube-core";
import { type Grant, sameRights } from "../app-cluster/rights.ts";

/** Statements of the role of these groups; empty where there is none. */
export interface AutoBindRights {
  readonly groups: readonly string[];
  /** Returns true for an API that this role serves, so that it needs no role of its own. */
  readonly serves: (api: string) => boolean;
  /** Returns true if the grant is just what the chart writes for the groups. */
  readonly isOwn: (grant: Grant) => boolean;
}

/** Reads the role among all roles, which are by kind and name. */
export function autoBindRights(allRoles: ReadonlyMap<string, Role>): AutoBindRights {
  const role = allRoles.get(`ClusterRole ${autoBindRole}`);
  const scope = parseAutoBind(role?.metadata.annotations?.[autoBindAnnotation]);
  const rules = new Map(
    autoBindManifests(scope).flatMap(({ kind, metadata: { name, namespace }, rules: own }) =>
      Array.isArray(own)
        ? [
            [
              `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`,
              own as readonly PolicyRule[],
            ],
          ]
        : [],
    ),
  );
  return {
    groups: scope.groups,
    serves: (api) => isAutoBindApi(api, scope),
    isOwn: (grant) => {
      const own = scope.groups.length === 0 ? undefined : rules.get(grant.role);
      return own !== undefined && sameRights(grant.rules, own);
    },
  };
}
