/** Roles for APIs that the konnector binds by itself: rights on whole API groups, because the names of APIs to come are not known. */
import { autoBindAnnotation, autoBindRole, type AutoBindScope } from "./admission/auto-bind.ts";
import { bindingRoleManifests, homeRoleManifests, type Manifest } from "./konnector-manifests.ts";
import { bindGroup } from "./names.ts";

/**
 * Returns the konnector's roles for these groups. RBAC knows no names of CustomResourceDefinitions to come, so the admission policy limits the
 * second rule to those of the groups.
 */
export function autoBindManifests({ groups, except }: AutoBindScope): readonly Manifest[] {
  const rules = [
    {
      apiGroups: groups,
      resources: ["*"],
      verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
    },
    {
      apiGroups: ["apiextensions.k8s.io"],
      resources: ["customresourcedefinitions"],
      verbs: ["update", "patch"],
    },
  ];
  const wide = bindingRoleManifests(autoBindRole, rules);
  const creation = [{ apiGroups: [bindGroup], resources: ["apiservicebindings"], verbs: ["create"] }];
  const annotations = { [autoBindAnnotation]: JSON.stringify({ except, groups }) };
  return [
    ...wide.map((one) =>
      one.kind === "ClusterRole" ? { ...one, metadata: { ...one.metadata, annotations } } : one,
    ),
    ...homeRoleManifests(autoBindRole, creation),
  ];
}
