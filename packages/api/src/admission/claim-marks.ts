/**
 * The konnector's marks on new claims, made in the request that creates them: a MutatingAdmissionPolicy for each bound API (KEP-3962;
 * stable since Kubernetes 1.36). Without it the konnector marks a claim with a write of its own (designs/0022-marks-at-admission.md).
 */
import { isDnsSubdomain } from "@klutch/kube-core";
import type { Manifest } from "../konnector-manifests.ts";
import {
  bindGroup,
  boundAnnotation,
  claimMarksCondition,
  consumerNamespace,
  konnectorName,
  syncerFinalizer,
} from "../names.ts";

const group = "admissionregistration.k8s.io";
const prefix = "klutch-claim-marks.";

/** Name of the policy, and of its binding, for the API with this name. */
export function claimMarksName(api: string): string {
  return `${prefix}${api}`;
}

/** Returns the API of a policy or policy binding that Klutch wrote; undefined for any other. */
export function claimMarksApi({
  metadata: { name = "", labels },
}: {
  readonly metadata: {
    readonly name?: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
  };
}): string | undefined {
  return name.startsWith(prefix) && labels?.["app"] === konnectorName ? name.slice(prefix.length) : undefined;
}

const isMarked = `has(object.metadata.finalizers) && '${syncerFinalizer}' in object.metadata.finalizers`;
/** The konnector reports the condition while it syncs the API. `params` is the APIServiceBinding. */
const isSynced = `!has(params.metadata.deletionTimestamp) && has(params.status) && has(params.status.conditions) && params.status.conditions.exists(one, one.type == '${claimMarksCondition}' && one.status == 'True')`;
const addFinalizer = `has(object.metadata.finalizers) ? JSONPatch{op: 'add', path: '/metadata/finalizers/-', value: '${syncerFinalizer}'} : JSONPatch{op: 'add', path: '/metadata/finalizers', value: ['${syncerFinalizer}']}`;
const annotate = `has(object.metadata.annotations) ? JSONPatch{op: 'add', path: '/metadata/annotations/' + jsonpatch.escapeKey('${boundAnnotation}'), value: 'true'} : JSONPatch{op: 'add', path: '/metadata/annotations', value: {'${boundAnnotation}': 'true'}}`;

/**
 * Returns the policy and its binding; none for an API whose name leaves no room for theirs. Neither does anything unless an APIServiceBinding of
 * this name is in force. Throws a RangeError for a name that no API has.
 */
export function claimMarksManifests(api: string): readonly Manifest[] {
  if (!isDnsSubdomain(api)) throw new RangeError(`${JSON.stringify(api)} is no name of an API`);
  return isDnsSubdomain(claimMarksName(api)) ? claimMarksOf(api, ...splitApi(api)) : [];
}

/** The same for a template, whose placeholders are no names. */
export function claimMarksOf(api: string, resource: string, apiGroup: string): readonly Manifest[] {
  const metadata = { name: claimMarksName(api), labels: { app: konnectorName } };
  return [
    {
      apiVersion: `${group}/v1`,
      kind: "MutatingAdmissionPolicy",
      metadata,
      spec: {
        failurePolicy: "Ignore",
        reinvocationPolicy: "Never",
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
        matchConditions: [
          { name: "synced", expression: isSynced },
          { name: "unmarked", expression: `!(${isMarked})` },
        ],
        mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: `[${addFinalizer}, ${annotate}]` } }],
      },
    },
    {
      apiVersion: `${group}/v1`,
      kind: "MutatingAdmissionPolicyBinding",
      metadata,
      spec: {
        policyName: metadata.name,
        paramRef: { name: api, namespace: consumerNamespace, parameterNotFoundAction: "Allow" },
      },
    },
  ];
}

function splitApi(api: string): [resource: string, group: string] {
  const [resource = "", ...rest] = api.split(".");
  return [resource, rest.join(".")];
}
