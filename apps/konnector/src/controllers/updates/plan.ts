/** Decides which image the konnector's Deployment gets: of the repository that the operator chose, with the tag of a version that they allow. */
import {
  type KonnectorUpdateScope,
  mostUpdateWords,
  plainText,
  refusedUpdate,
  releaseVersion,
} from "@klutch/api";

/** Facts about the Deployment and the wishes for it. */
export interface ObservedUpdate {
  readonly allowed: KonnectorUpdateScope;
  /** Versions that control planes want, each once. */
  readonly wanted: readonly string[];
  /** Version of this program. */
  readonly running: string;
  /** Image of the Deployment's container; undefined if there is none. */
  readonly image: string | undefined;
  /** Reason for which the Deployment does not get on; undefined while it does. */
  readonly stuck: string | undefined;
}

/** An image to write, or a problem, or neither. */
export interface UpdatePlan {
  readonly image?: string;
  readonly problem?: string;
}

/** Returns the plan. No word of a control plane becomes part of an image but a version of a release. */
export function planUpdate({ allowed, wanted, running, image, stuck }: ObservedUpdate): UpdatePlan {
  const [version, other] = wanted;
  if (version === undefined) return {};
  if (other !== undefined)
    return problem(`control planes want different versions: ${wanted.slice(0, 3).join(", ")}`);
  if (image === undefined) return problem("the Deployment klutch-bind/konnector has no container konnector");
  if (image.includes("@"))
    return problem(
      "the image is pinned by a digest, which no version replaces; install one by its tag to follow",
    );
  const tag = image.startsWith(`${allowed.repository}:`)
    ? image.slice(allowed.repository.length + 1)
    : undefined;
  if (tag === undefined)
    return problem(`the image is not of ${allowed.repository}, which is all that is allowed`);
  if (releaseVersion(tag) === undefined)
    return problem(`the tag ${tag} of the image is not the version of a release`);
  const refused = refusedUpdate(version, allowed);
  if (refused !== undefined) return problem(refused);
  if (tag !== version) return { image: `${allowed.repository}:${version}` };
  return running === version || stuck === undefined ? {} : problem(`${version} does not start: ${stuck}`);
}

function problem(text: string): UpdatePlan {
  return { problem: plainText(text, mostUpdateWords) };
}
