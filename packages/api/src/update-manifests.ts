/** The role that lets the konnector follow updates: its own Deployment, by name. */
import { type KonnectorUpdateScope, updateRole, updatesAnnotation } from "./admission/konnector-updates.ts";
import { homeRoleManifests, type Manifest } from "./konnector-manifests.ts";
import { konnectorName } from "./names.ts";

/** Returns the Role and its binding. RBAC knows no fields, so the admission policy limits the rule to the image's tag. */
export function updateManifests({ line, floor, repository }: KonnectorUpdateScope): readonly Manifest[] {
  const rules = [
    {
      apiGroups: ["apps"],
      resources: ["deployments"],
      resourceNames: [konnectorName],
      verbs: ["get", "patch"],
    },
  ];
  const annotations = { [updatesAnnotation]: JSON.stringify({ floor, line, repository }) };
  return homeRoleManifests(updateRole, rules).map((one) =>
    one.kind === "Role" ? { ...one, metadata: { ...one.metadata, annotations } } : one,
  );
}

/** Returns the konnector's arguments. */
export function updateArguments({ line, floor, repository }: KonnectorUpdateScope): readonly string[] {
  return [`--follow-updates=${line}`, `--update-repository=${repository}`, `--update-floor=${floor}`];
}
