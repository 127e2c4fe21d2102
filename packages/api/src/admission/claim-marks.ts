/**
 * The konnector's marks on new claims, made in the request that creates them: a MutatingAdmissionPolicy for each bound API (KEP-3962;
 * stable since Kubernetes 1.36). Without it the konnector marks a claim with a write of its own (designs/0022-marks-at-admission.md).
 */
import { boundAnnotation, claimMarksCondition, syncerFinalizer } from "../names.ts";
import { type ApiPolicy, apiPolicy } from "./api-policy.ts";

const isMarked = `has(object.metadata.finalizers) && '${syncerFinalizer}' in object.metadata.finalizers`;
/** The konnector reports the condition while it syncs the API. `params` is the APIServiceBinding. */
const isSynced = `!has(params.metadata.deletionTimestamp) && has(params.status) && has(params.status.conditions) && params.status.conditions.exists(one, one.type == '${claimMarksCondition}' && one.status == 'True')`;
const addFinalizer = `has(object.metadata.finalizers) ? JSONPatch{op: 'add', path: '/metadata/finalizers/-', value: '${syncerFinalizer}'} : JSONPatch{op: 'add', path: '/metadata/finalizers', value: ['${syncerFinalizer}']}`;
const annotate = `has(object.metadata.annotations) ? JSONPatch{op: 'add', path: '/metadata/annotations/' + jsonpatch.escapeKey('${boundAnnotation}'), value: 'true'} : JSONPatch{op: 'add', path: '/metadata/annotations', value: {'${boundAnnotation}': 'true'}}`;

/** The policies. They mark nothing while the APIServiceBinding does not say that the API is synced. */
export const claimMarks: ApiPolicy = apiPolicy({
  prefix: "klutch-claim-marks.",
  kind: "MutatingAdmissionPolicy",
  policy: () => ({
    reinvocationPolicy: "Never",
    matchConditions: [
      { name: "synced", expression: isSynced },
      { name: "unmarked", expression: `!(${isMarked})` },
    ],
    mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: `[${addFinalizer}, ${annotate}]` } }],
  }),
  binding: {},
});
