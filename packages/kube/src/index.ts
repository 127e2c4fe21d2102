/** Talking to one Kubernetes API server. Knows no Klutch kind. */
export { createKubeClient, type KubeClientOptions } from "./client.ts";
export { abortableSleep, type Clock, systemClock } from "./clock.ts";
export { type ClusterAuth, type ClusterConfig, type Impersonation, inClusterConfig } from "./config.ts";
export { decodeObject, parseJson } from "./decode.ts";
export { discoverResource, type ResourceQuery, resourceTypeOf } from "./discovery.ts";
export {
  ApiError,
  failureOutline,
  FencedError,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isNotFound,
  isTooManyRequests,
  isUnauthorized,
  TransportError,
  type TransportErrorCode,
  WatchStalledError,
} from "./errors.ts";
export { findOrCreate } from "./find-or-create.ts";
export type { FlowControlOptions } from "./flow-control.ts";
export { parseForeignKubeconfig } from "./foreign-kubeconfig.ts";
export { formatKubeconfig } from "./format-kubeconfig.ts";
export { kubeconfigNames, loadKubeconfig, type LoadKubeconfigOptions } from "./kubeconfig.ts";
export { KubeconfigError, type KubeconfigErrorCode } from "./kubeconfig-errors.ts";
export { derivedReads } from "./derived-reads.ts";
export { listPages } from "./pages.ts";
export { type QuotaRefusal, quotaRefusalOf } from "./quota-refusal.ts";
export { type Random, systemRandom } from "./random.ts";
export { type ServiceAccountToken, serviceAccountToken } from "./token-request.ts";
export { createTransport, type Transport, type WireRequest, type WireResponse } from "./transport.ts";
export type * from "./types.ts";
export { formatYaml, parseYaml, parseYamlDocuments } from "./yaml.ts";
export { parsePlacedYaml, type PlacedYaml, YamlTextError } from "./yaml-places.ts";
