/**
 * The limit of a bound API, told at `kubectl apply`: a ValidatingAdmissionPolicy for each bound API refuses new claims while the APIServiceBinding
 * shows as many as the provider allows (designs/0025-limits-in-the-app-cluster.md). The provider's quota is what holds; this is where people read of it.
 */
import { isDnsSubdomain } from "@klutch/kube-core";
import type { Manifest } from "../konnector-manifests.ts";
import { bindGroup, consumerNamespace, konnectorName } from "../names.ts";

const group = "admissionregistration.k8s.io";
const prefix = "klutch-limit.";

/** Name of the policy, and of its binding, for the API with this name. */
export function apiLimitName(api: string): string {
  return `${prefix}${api}`;
}

/** Returns the API of a policy or policy binding that Klutch wrote; undefined for any other. */
export function apiLimitApi({
  metadata: { name = "", labels },
}: {
  readonly metadata: {
    readonly name?: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
  };
}): string | undefined {
  return name.startsWith(prefix) && labels?.["app"] === konnectorName ? name.slice(prefix.length) : undefined;
}

/** The konnector makes claims for objects that the provider has already: they count there. */
const isPerson = `request.userInfo.username != 'system:serviceaccount:${consumerNamespace}:${konnectorName}'`;
/** `params` is the APIServiceBinding. */
const limit = "params.status.limit";
const isLimited = `!has(params.metadata.deletionTimestamp) && has(params.status) && has(${limit}) && has(${limit}.max) && has(${limit}.used)`;
const contact = `(has(${limit}.contact) && ${limit}.contact != '' ? '; ask ' + ${limit}.contact : '')`;

/**
 * Returns the policy and its binding; none for an API whose name leaves no room for theirs. Neither refuses anything unless an APIServiceBinding of
 * this name shows a limit that is reached. Throws a RangeError for a name that no API has.
 */
export function apiLimitManifests(api: string): readonly Manifest[] {
  if (!isDnsSubdomain(api)) throw new RangeError(`${JSON.stringify(api)} is no name of an API`);
  const [resource = "", ...rest] = api.split(".");
  return isDnsSubdomain(apiLimitName(api)) ? apiLimitOf(api, resource, rest.join(".")) : [];
}

/** The same for a template, whose placeholders are no names. */
export function apiLimitOf(api: string, resource: string, apiGroup: string): readonly Manifest[] {
  const metadata = { name: apiLimitName(api), labels: { app: konnectorName } };
  return [
    {
      apiVersion: `${group}/v1`,
      kind: "ValidatingAdmissionPolicy",
      metadata,
      spec: {
        failurePolicy: "Ignore",
        paramKind: { apiVersion: `${bindGroup}/v1alpha1`, kind: "APIServiceBinding" },
        matchConstraints: {
          matchPolicy: "Equivalent",
          resourceRules: [
            {
              apiGroups: [apiGroup],
              apiVersions: ["*"],
              operations: ["CREATE"],
              resources: [resource],
              scope: "*",
            },
          ],
        },
        matchConditions: [{ name: "person", expression: isPerson }],
        validations: [
          {
            expression: `!(${isLimited}) || ${limit}.used < ${limit}.max`,
            // For a text with which the expression below is refused, as one with line breaks is.
            message: `this cluster may have no more ${resource}`,
            messageExpression: `'this cluster may have ' + string(${limit}.max) + ' ${resource}, has ' + string(${limit}.used) + ${contact}`,
            reason: "Forbidden",
          },
        ],
      },
    },
    {
      apiVersion: `${group}/v1`,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata,
      spec: {
        policyName: metadata.name,
        paramRef: { name: api, namespace: consumerNamespace, parameterNotFoundAction: "Allow" },
        validationActions: ["Deny"],
      },
    },
  ];
}
