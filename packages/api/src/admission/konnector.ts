/**
 * The second line behind the konnector's roles: what its account may write in an app cluster, whatever RBAC says. The plugin writes it
 * with what people bound and accepted; no account that RBAC confines can change it.
 */
import { isDnsSubdomain } from "@klutch/kube-core";
import { checkApiFullName } from "../foreign/api-name.ts";
import type { AnsweredPermissionClaim } from "../kinds/permission-claim.ts";
import type { Manifest } from "../konnector-manifests.ts";
import { bindGroup, consumerNamespace, konnectorName, resourceOwnerAnnotation } from "../names.ts";
import { crdNameOf } from "../naming.ts";
import { bindingRules } from "../rbac.ts";
import { crossingSecretTypes, serviceBindingPrefix } from "../secret-types.ts";
import { accountPolicyManifests, isSystemNamespace } from "./policy.ts";

/** Name of the policy and its binding. */
export const konnectorPolicyName = "klutch-konnector";

/** Resources that the agent may write: names as `<plural>.<group>`, or `<plural>` in the core group. */
export interface KonnectorScope {
  readonly apis: readonly string[];
  readonly claims: readonly string[];
  /** Types of Secrets that accepted claims name besides the list. */
  readonly secretTypes: readonly string[];
}

/** Returns the scope of the bindings: each API by its name, and the writable ones of its accepted claims. */
export function konnectorScopeOf(
  bindings: readonly { readonly name: string; readonly claims: readonly AnsweredPermissionClaim[] }[],
): KonnectorScope {
  const shared = bindings.filter(({ name }) => checkApiFullName(name) === undefined);
  const written = shared.flatMap(({ name, claims }) =>
    bindingRules(groupResourceOf(name), claims)
      .slice(bindingRules(groupResourceOf(name), []).length)
      .filter(({ verbs }) => verbs.some((verb) => !readVerbs.has(verb)))
      .flatMap(({ apiGroups = [], resources = [] }) =>
        resources.map((resource) =>
          crdNameOf({ resource: resource.replace(/\/.*$/, ""), group: apiGroups[0] }),
        ),
      ),
  );
  const selectors = shared.flatMap(({ claims }) =>
    claims
      .filter(({ state, resource }) => state === "Accepted" && resource === "secrets")
      .flatMap(({ selector }) => selector?.fieldSelectors ?? []),
  );
  const secretTypes = selectors.flatMap((text) =>
    [...text.matchAll(/(?:^|,)\s*type==?([-./\w]+)\s*(?=,|$)/g)].map((match) => match[1] ?? ""),
  );
  return { apis: shared.map(({ name }) => name), claims: written, secretTypes };
}

const readVerbs: ReadonlySet<string> = new Set(["get", "list", "watch"]);

function groupResourceOf(name: string): { readonly group: string; readonly resource: string } {
  const dot = name.indexOf(".");
  return { resource: name.slice(0, dot), group: name.slice(dot + 1) };
}

const quoted = (names: readonly string[]): string =>
  `[${[...new Set(names)]
    .toSorted()
    .map((name) => `'${name}'`)
    .join(", ")}]`;
/** Whatever a claim names: what clusters and tools make for themselves. */
const isOwnSecretType =
  "(variables.written.type == 'kubernetes.io/service-account-token' || variables.written.type.startsWith('bootstrap.kubernetes.io/') || variables.written.type.startsWith('helm.sh/'))";

const annotated = (object: string, key: string): string =>
  `(has(${object}.metadata.annotations) && '${key}' in ${object}.metadata.annotations)`;
const dataOf = (object: string): string => `(has(${object}.data) ? ${object}.data : {})`;

/** The policy and its binding. Throws a RangeError for names that are no resource names: they become part of an expression. */
export function konnectorPolicyManifests({ apis, claims, secretTypes }: KonnectorScope): readonly Manifest[] {
  for (const type of secretTypes)
    if (!/^[-./\w]+$/.test(type)) throw new RangeError(`${JSON.stringify(type)} is no type of a Secret`);
  for (const name of [...apis, ...claims])
    if (!isDnsSubdomain(name)) throw new RangeError(`${JSON.stringify(name)} is no name of a resource`);
  return konnectorPolicyOf({
    apis: quoted(apis),
    claims: quoted(claims),
    secretTypes: quoted([...crossingSecretTypes, ...secretTypes]),
  });
}

/** The same with the lists as CEL writes them, for a template that fills them in. Types are all that may cross. */
export function konnectorPolicyOf({
  apis,
  claims,
  secretTypes,
}: Readonly<Record<keyof KonnectorScope, string>>): readonly Manifest[] {
  return accountPolicyManifests({
    name: konnectorPolicyName,
    account: { namespace: consumerNamespace, name: konnectorName },
    variables: {
      isMain: "variables.part == '' || variables.part == 'status'",
      isBound: `variables.resource in ${apis} && variables.isMain`,
      isClaimed: `variables.resource in ${claims} && variables.isMain`,
      isHome: `variables.place == '${consumerNamespace}'`,
      isOwnKubeconfig:
        "variables.isHome && variables.resource == 'secrets' && request.operation != 'DELETE' && variables.written.type == 'Opaque'",
      isLease:
        "variables.isHome && variables.resource == 'leases.coordination.k8s.io' && request.operation != 'DELETE'",
      isEvent: "variables.resource in ['events', 'events.events.k8s.io'] && request.operation != 'DELETE'",
      isBinding: `variables.resource == 'apiservicebindings.${bindGroup}' && variables.isMain && request.operation == 'UPDATE'`,
      isCrd:
        "variables.resource == 'customresourcedefinitions.apiextensions.k8s.io' && variables.part == '' && request.operation != 'DELETE'",
      hasGoodType: `!${isOwnSecretType} && (variables.written.type in ${secretTypes} || variables.written.type.startsWith('${serviceBindingPrefix}'))`,
      isPayload: "variables.resource == 'secrets' || variables.resource == 'configmaps'",
    },
    rules: [
      {
        expression:
          "variables.isBound || variables.isClaimed || variables.isOwnKubeconfig || variables.isLease || variables.isEvent || variables.isBinding || variables.isCrd",
        message: `the konnector may write only bound APIs, accepted claims and its own objects`,
      },
      {
        expression: `variables.isOwnKubeconfig || variables.isLease || variables.isEvent || variables.isBinding || variables.isBound || !${isSystemNamespace("variables.place")}`,
        message: "the konnector may not write claimed objects into namespaces of Kubernetes or of Klutch",
      },
      {
        expression: `!variables.isClaimed || variables.isHome || variables.resource != 'secrets' || request.operation == 'DELETE' || variables.hasGoodType`,
        message: "the konnector may not write Secrets of this type",
      },
      {
        expression: `!variables.isClaimed || variables.isHome || !variables.isPayload || request.operation == 'CREATE' || ${annotated("oldObject", resourceOwnerAnnotation)} || (request.operation == 'UPDATE' && ${dataOf("object")} == ${dataOf("oldObject")})`,
        message: `the konnector may change or delete only what carries ${resourceOwnerAnnotation}`,
      },
      {
        expression: `!variables.isBinding || variables.part == 'status' || object.spec == oldObject.spec`,
        message: "the konnector may not change what a binding allows",
      },
      {
        expression: `!variables.isCrd || object.metadata.name == 'apiservicebindings.${bindGroup}' || (object.metadata.name in ${apis} && has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(owner, owner.kind == 'APIServiceBinding' && owner.name == object.metadata.name) && (!has(object.spec.conversion) || object.spec.conversion.strategy != 'Webhook'))`,
        message: "the konnector may write only CustomResourceDefinitions of bound APIs",
      },
    ],
  });
}
