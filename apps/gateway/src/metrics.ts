/** Metrics of the gateway, beside those of its own requests. */
import type { CounterDeclaration, GaugeDeclaration, ProcessName } from "@klutch/telemetry";

const processes: readonly ProcessName[] = ["gateway"];

export const upstreamWatches: GaugeDeclaration = {
  name: "klutch_gateway_upstream_watches",
  type: "gauge",
  help: "Kinds that are followed at the API server, one watch each",
  labels: [],
  processes,
};
export const servedWatches: GaugeDeclaration = {
  name: "klutch_gateway_served_watches",
  type: "gauge",
  help: "Watches of app clusters that are answered from caches",
  labels: [],
  processes,
};
export const cachedObjects: GaugeDeclaration = {
  name: "klutch_gateway_objects",
  type: "gauge",
  help: "Objects in caches",
  labels: [],
  processes,
};
export const cachedBytes: GaugeDeclaration<"part"> = {
  name: "klutch_gateway_bytes",
  type: "gauge",
  help: "Bytes in caches",
  notes:
    "`part` is `objects` or `history`: the events of the last minutes, which share bytes with the objects that they show.",
  labels: ["part"],
  processes,
};
export const servedLists: CounterDeclaration = {
  name: "klutch_gateway_lists_total",
  type: "counter",
  help: "Lists that were answered from caches",
  labels: [],
  processes,
};
export const passedRequests: CounterDeclaration<"reason"> = {
  name: "klutch_gateway_passed_requests_total",
  type: "counter",
  help: "Requests that the API server answered, by the reason why the gateway did not",
  notes:
    "`reason` is `method` or `path` for everything that is no list or watch of a kind, `unbound` for other kinds, `format`, `parameters`, `selector` or `paged` for what only API servers do, `consistent` for lists that must be as new as etcd, `newer` for versions that the cache has not reached, `unsynced` while a cache is being filled, and `access` when the app cluster may not read or no answer to that came.",
  labels: ["reason"],
  processes,
};
export const refusedRequests: CounterDeclaration<"code"> = {
  name: "klutch_gateway_refused_requests_total",
  type: "counter",
  help: "Requests that were refused and did not reach the API server, by the code of the answer",
  labels: ["code"],
  processes,
};
export const endedWatches: CounterDeclaration<"reason"> = {
  name: "klutch_gateway_ended_watches_total",
  type: "counter",
  help: "Watches of app clusters that have ended, by the reason",
  notes:
    "`reason` is `over` (its time), `gone` (the client left), `expired` (events were missed, so the client lists again), `denied` (right or token withdrawn), or `slow` (the client took nothing for 30 seconds).",
  labels: ["reason"],
  processes,
};
export const accessReviews: CounterDeclaration = {
  name: "klutch_gateway_access_reviews_total",
  type: "counter",
  help: "Questions to the API server about app clusters: whose a token is, and whether it may read a kind",
  labels: [],
  processes,
};
