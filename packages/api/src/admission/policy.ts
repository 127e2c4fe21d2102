/** Builds a ValidatingAdmissionPolicy for one service account (KEP-3488; Kubernetes 1.30 and newer). */
import type { Manifest } from "../konnector-manifests.ts";

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
  readonly account: { readonly namespace: string; readonly name: string };
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
 * Returns the policy and its binding. Admission does not see reads, so the policy confines writes only. The policy contains all values that
 * its rules need: a missing parameter would refuse the requests of all users, because the account is checked later.
 */
export function accountPolicyManifests(policy: AccountPolicy): readonly Manifest[] {
  const { name, account, variables, rules } = policy;
  const user = `system:serviceaccount:${account.namespace}:${account.name}`;
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
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: ["*"],
              apiVersions: ["*"],
              operations: ["CREATE", "UPDATE", "DELETE", "CONNECT"],
              resources: ["*/*"],
              scope: "*",
            },
          ],
        },
        matchConditions: [{ name: "account", expression: `request.userInfo.username == '${user}'` }],
        variables: [
          {
            name: "resource",
            expression:
              "request.resource.resource + (request.resource.group == '' ? '' : '.' + request.resource.group)",
          },
          { name: "place", expression: "has(request.namespace) ? request.namespace : ''" },
          { name: "part", expression: "has(request.subResource) ? request.subResource : ''" },
          { name: "written", expression: "request.operation == 'DELETE' ? oldObject : object" },
          ...Object.entries(variables).map(([key, expression]) => ({ name: key, expression })),
        ],
        validations: rules.map(({ expression, message }) => ({
          expression,
          messageExpression: `'${message}: ' + ${target}`,
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
        validationActions: ["Deny"],
      },
    },
  ];
}
