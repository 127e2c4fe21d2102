/** Client of Open Service Broker API brokers; usable without the rest of Klutch. */
export {
  type BindRequest,
  type CallOptions,
  createOsbClient,
  type DeleteRequest,
  type ObserveCall,
  type OsbClient,
  type PlanRef,
  type PollRequest,
  type ProvisionRequest,
  type UpdateRequest,
} from "./client.ts";
export {
  isConcurrency,
  isGone,
  isRefusal,
  mayHaveLeftOrphan,
  OsbError,
  OsbTransportError,
  type OsbTransportCode,
} from "./errors.ts";
export { operationOf, type OsbOperation } from "./operation.ts";
export type { BrokerConfig } from "./transport.ts";
export type {
  BindOutcome,
  Catalog,
  FetchedBinding,
  FetchedInstance,
  LastOperation,
  OriginatingIdentity,
  Outcome,
  Plan,
  Service,
} from "./types.ts";
