/**
 * Parts of the client that `@klutch/osb-conformance` checks brokers with: requests and answers as they are on the wire. Unlike the client itself,
 * they may change with every version.
 */
export { type BrokerAuth, type Credentials, createCredentials, sendAuthorized } from "./auth.ts";
export { decodeLastOperation } from "./decode.ts";
export { OsbError, OsbTransportError } from "./errors.ts";
export { basicHeader } from "./header-value.ts";
export { type NamedClient, createNamedClient } from "./http.ts";
export { type Json, isObject, isOptional, isText, isTextList, listOf, objectOf } from "./json.ts";
export { type OsbOperation, operationOf } from "./operation.ts";
export { type PollAnswer, type PollClock, type PollEnd, nextPoll, realClock } from "./poll.ts";
export { apiVersions, hasFeature, nextVersion } from "./version.ts";
