/** Defines everything that `explain` looks at. Each part may be missing, because the caller's rights decide. */
import type { Side } from "./explanation.ts";
import type { ObjectView } from "./view.ts";

export type { Side };

/** The result of a look: an object, or why there is none. */
export type Looked = { readonly found: ObjectView } | "missing" | "forbidden";

/** A Warning about the claim. */
export interface Warning {
  readonly reason: string;
  readonly message: string;
}

/** A managed resource, or another object that the composite names. */
export interface Composed {
  /** `<kind>/<name>`, as its composite names it. */
  readonly ref: string;
  readonly object: Looked;
  /** The ProviderConfig that it names; undefined if it names none. */
  readonly config: Looked | undefined;
  /** The broker's key of the operation that runs. */
  readonly operation: string | undefined;
}

/** The control plane's side of the way. */
export interface Above {
  readonly upstream: Looked;
  /** True if the upstream object holds the claim's present spec; undefined if it has no mark to tell. */
  readonly holdsSpec: boolean | undefined;
  /** Undefined if the upstream object names none. The upstream object itself where a claim is its own composite. */
  readonly composite: Looked | undefined;
  /** False for an API that Crossplane does not compose. */
  readonly isComposed: boolean;
  readonly resources: readonly Composed[];
}

/** The input of `explain`. */
export interface Observed {
  /** The claim in the app cluster; or its upstream object, if only the control plane was asked. */
  readonly claim: ObjectView;
  readonly from: Side;
  /** `<plural>.<group>`. */
  readonly api: string;
  readonly plural: string;
  /** True if the claim names a Composition itself. */
  readonly choosesComposition: boolean;
  /** The APIServiceBinding; undefined where no one was asked for it. */
  readonly binding: Looked | undefined;
  readonly agent: "works" | "silent" | "unknown";
  /** Warnings about the claim, the newest first. */
  readonly warnings: readonly Warning[];
  /** The Secret that the claim names. */
  readonly secret: "present" | "missing" | "unknown";
  /** Median of the time that others of the kind took; undefined if too few are known. */
  readonly usualMs: number | undefined;
  readonly above: Above | undefined;
}
