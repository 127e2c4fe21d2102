/** Client of Open Service Broker API brokers; usable without the rest of Klutch. */
export type { BrokerAuth } from "./auth.ts";
export {
  type ClientSources,
  createOsbClient,
  fetchCatalogDocument,
  type ObserveCall,
  type OsbClient,
} from "./client.ts";
export {
  isAppRequired,
  isAsyncRequired,
  isConcurrency,
  isGone,
  isMaintenanceInfoConflict,
  isRefusal,
  mayHaveLeftOrphan,
  needsOrphanMitigation,
  OsbError,
  OsbTransportError,
  type OsbTransportCode,
  type SpecifiedError,
} from "./errors.ts";
export type { TlsSettings } from "@klutch/http-client";
export type { OAuthConfig } from "./oauth.ts";
export { operationOf, type OsbOperation } from "./operation.ts";
export {
  nextPoll,
  type PollAnswer,
  type PollClock,
  type PollEnd,
  type PollObservation,
  type PollOptions,
  pollOperation,
} from "./poll.ts";
export type {
  BindRequest,
  CallOptions,
  DeleteRequest,
  FetchOptions,
  PlanRef,
  PollRequest,
  ProvisionRequest,
  UpdateRequest,
} from "./requests.ts";
export type { BrokerConfig } from "./transport.ts";
export type {
  BindOutcome,
  BindResource,
  Catalog,
  FetchedBinding,
  FetchedInstance,
  LastOperation,
  OriginatingIdentity,
  Outcome,
  Plan,
  Service,
} from "./types.ts";
export { withIdentity } from "./with-identity.ts";
