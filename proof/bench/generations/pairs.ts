/** A claim and its upstream object in sync, as two API servers would send them. */
import { boundAnnotation, fieldManager, specDigestAnnotation, syncerFinalizer } from "@klutch/api";
import { canonicalJson, type DynamicObject } from "@klutch/kube-core";
import { specMark, type StatusView } from "@klutch/sync";
import { widget, type WidgetContents } from "../harness/widget.ts";
import { mirrorOf, workNamespace } from "../harness/fixture.ts";
import { providerStatus, shownStatus } from "./statuses.ts";

/** JSON with sorted keys, as servers write it. */
export interface SentPair {
  readonly claim: string;
  readonly upstream: string;
  /** The upstream object with its next status. */
  readonly news: string;
  /** The claim with that. */
  readonly answer: string;
}

const [claimGeneration, upstreamGeneration] = [2, 5];

/** A pair of this name with random contents. */
export function sentPair(view: StatusView, name: string, contents: WidgetContents): SentPair {
  const made = widget(workNamespace, name, contents);
  const mark = specMark(made);
  const { spec } = made;
  const marks = { [boundAnnotation]: "true", [specDigestAnnotation]: mark };
  const says = (round: number): object => providerStatus(upstreamGeneration, mark, round);
  const upstream = {
    ...made,
    metadata: {
      ...serverFields(`upstream-${name}`, upstreamGeneration),
      name,
      namespace: mirrorOf(workNamespace),
      annotations: marks,
      managedFields: [
        entry(fieldManager, "Apply", { spec, metadata: { annotations: marks } }),
        entry("crossplane", "Update", { status: says(1) }),
      ],
    },
  };
  const bound = { annotations: { [boundAnnotation]: "true" } };
  const claim = {
    ...made,
    metadata: {
      ...serverFields(`claim-${name}`, claimGeneration),
      ...bound,
      name,
      namespace: workNamespace,
      finalizers: [syncerFinalizer],
      managedFields: [
        entry("kubectl", "Apply", { spec }),
        entry(fieldManager, "Apply", { metadata: bound }),
        entry(fieldManager, "Update", { status: says(1) }),
      ],
    },
  };
  const saying = (round: number): DynamicObject => ({ ...upstream, status: says(round) });
  const showing = (round: number): object => ({ ...claim, status: shownStatus(view, claim, saying(round)) });
  return {
    claim: canonicalJson(showing(1)),
    upstream: canonicalJson(saying(1)),
    news: canonicalJson(saying(2)),
    answer: canonicalJson(showing(2)),
  };
}

function serverFields(uid: string, generation: number): object {
  return { creationTimestamp: "2026-11-22T10:00:00Z", generation, resourceVersion: "4711", uid };
}

/** Returns the managedFields entry of one manager. */
function entry(manager: string, operation: "Apply" | "Update", fields: object): object {
  const time = "2026-11-22T10:11:12Z";
  return { apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: fieldsOf(fields), manager, operation, time };
}

/** FieldsV1 of all leaves; lists as a whole. */
function fieldsOf(value: unknown): object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [`f:${key}`, fieldsOf(child)]));
}
