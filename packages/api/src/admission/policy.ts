/** Builds a ValidatingAdmissionPolicy for one service account, or for several alike (KEP-3488; Kubernetes 1.30 and newer). */
import type { Manifest } from "../konnector-manifests.ts";
import { bindGroup } from "../names.ts";

/** Returns names as a list of CEL. */
export function listed(values: readonly string[]): string {
  return `[${values.map((value) => `'${value}'`).join(", ")}]`;
}

/** Returns an object's labels or annotations, and an empty map where it has none. */
export function entriesOf(object: string, field: "labels" | "annotations"): string {
  return `(has(${object}.metadata.${field}) ? ${object}.metadata.${field} : {})`;
}

/** Tests labels or annotations: each but those of Klutch and of `more` is as before. */
export function areKept(entries: string, before: string, more: readonly string[] = []): string {
  const isOurs = `key.startsWith('${bindGroup}/') || key.contains('.${bindGroup}/') || key in ${listed(more)}`;
  return `${entries}.all(key, ${isOurs} || (key in ${before} && ${before}[key] == ${entries}[key])) && ${before}.all(key, ${isOurs} || key in ${entries})`;
}

/** One rule: the condition for a request, and the message of a refusal. */
export interface AdmissionRule {
  /** CEL over `object`, `oldObject`, `request`, `namespaceObject` and `variables`. */
  readonly expression: string;
  /** A sentence without a full stop; what was asked for stands behind it. */
  readonly message: string;
}

/** Parts of a policy. */
export interface AccountPolicy {
  /** Name of the policy and its binding. */
  readonly name: string;
  /** The account, or a CEL test of `request.userInfo.username` for accounts of several namespaces. */
  readonly account: { readonly namespace: string; readonly name: string } | string;
  /** Resources whose writes are checked, by group. Default: all of all groups. */
  readonly resources?: Readonly<Record<string, readonly string[]>> | undefined;
  /**
   * Name of a ClusterRole that the rules read as `params`. Without it nothing is checked, because a missing parameter would otherwise refuse the
   * requests of all users: the account is checked later. A rule of another policy has to notice its absence.
   */
  readonly params?: string | undefined;
  /** CEL variables in order: later ones may use earlier ones. */
  readonly variables: Readonly<Record<string, string>>;
  readonly rules: readonly AdmissionRule[];
}

/** The namespaces that belong to Kubernetes or to Klutch itself, as a CEL test of a text. */
export function isSystemNamespace(text: string): string {
  return `(${text}.startsWith('kube-') || ${text}.startsWith('klutch-'))`;
}

const group = "admissionregistration.k8s.io";

/**
 * Reads variables through `dyn`. API servers before Kubernetes 1.36 keep the types of all policies' variables in one map without a lock. At
 * each evaluation they look up the variables that an expression reads, and end if another policy is compiled at that moment
 * (kubernetes/kubernetes#135757). They look up nothing for `dyn`.
 */
function untyped(expression: string): string {
  return expression.replaceAll(/\bvariables\./g, "dyn(variables).");
}

/** Returns the policy and its binding. Admission does not see reads, so the policy confines writes only. */
export function accountPolicyManifests(policy: AccountPolicy): readonly Manifest[] {
  const { name, account, variables, rules, params, resources = { "*": ["*/*"] } } = policy;
  const isAccount =
    typeof account === "string"
      ? account
      : `request.userInfo.username == 'system:serviceaccount:${account.namespace}:${account.name}'`;
  const target =
    "request.operation + ' ' + variables.resource + " +
    "(variables.part == '' ? '' : '/' + variables.part) + ' ' + " +
    "(variables.place == '' ? '' : variables.place + '/') + (has(request.name) ? request.name : '')";
  return [
    {
      apiVersion: `${group}/v1`,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name },
      spec: {
        failurePolicy: "Fail",
        ...(params === undefined
          ? {}
          : { paramKind: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" } }),
        matchConstraints: {
          resourceRules: Object.entries(resources).map(([apiGroup, names]) => ({
            apiGroups: [apiGroup],
            apiVersions: ["*"],
            operations: ["CREATE", "UPDATE", "DELETE", "CONNECT"],
            resources: names,
            scope: "*",
          })),
        },
        matchConditions: [{ name: "account", expression: isAccount }],
        variables: [
          {
            name: "resource",
            expression:
              "request.resource.resource + (request.resource.group == '' ? '' : '.' + request.resource.group)",
          },
          { name: "place", expression: "has(request.namespace) ? request.namespace : ''" },
          { name: "part", expression: "has(request.subResource) ? request.subResource : ''" },
          { name: "written", expression: "request.operation == 'DELETE' ? oldObject : object" },
          ...Object.entries(variables).map(([key, expression]) => ({
            name: key,
            expression: untyped(expression),
          })),
        ],
        validations: rules.map(({ expression, message }) => ({
          expression: untyped(expression),
          messageExpression: `'${message}: ' + ${untyped(target)}`,
          reason: "Forbidden",
        })),
      },
    },
    {
      apiVersion: `${group}/v1`,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name },
      spec: {
        policyName: name,
        ...(params === undefined ? {} : { paramRef: { name: params, parameterNotFoundAction: "Allow" } }),
        validationActions: ["Deny"],
      },
    },
  ];
}
