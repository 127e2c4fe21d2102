/** Which images there are. */

/** An image of ours. */
export interface ImageDefinition {
  /** Folder below `apps`. */
  readonly app: string;
  /** Path below the registry. */
  readonly repository: string;
  readonly description: string;
}

/** All of them. The broker needs database servers beside it, so it has no image yet. */
export const imageDefinitions: readonly ImageDefinition[] = [
  {
    app: "konnector",
    repository: "klutch/konnector",
    description: "The agent of an app cluster: claims go to the control plane, status and Secrets come back.",
  },
  {
    app: "backend",
    repository: "klutch/backend",
    description: "Logins, the binding page, and the controllers of the control plane.",
  },
  {
    app: "provider-anynines",
    repository: "klutch/provider-anynines-controller",
    description: "The Crossplane provider of service brokers and backup managers.",
  },
  {
    app: "function-klutch",
    repository: "klutch/function-klutch-server",
    description: "The composition function of the data services.",
  },
];
