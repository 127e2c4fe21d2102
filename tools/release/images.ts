/** Which images there are. */
import type { ArtefactName } from "@klutch/api";

/** An image of ours. */
export interface ImageDefinition {
  /** Folder below `apps`. */
  readonly app: string;
  /** Name below the registry. */
  readonly repository: ArtefactName;
  readonly description: string;
}

/** All of them. The broker needs database servers beside it, so it has no image yet. */
export const imageDefinitions: readonly ImageDefinition[] = [
  {
    app: "konnector",
    repository: "konnector",
    description: "The agent of an app cluster: claims go to the control plane, status and Secrets come back.",
  },
  {
    app: "backend",
    repository: "backend",
    description: "Logins, the binding page, and the controllers of the control plane.",
  },
  {
    app: "provider-anynines",
    repository: "provider-anynines",
    description: "The Crossplane provider of service brokers and backup managers.",
  },
  {
    app: "function-klutch",
    repository: "function-klutch",
    description: "The composition function of the data services.",
  },
];
