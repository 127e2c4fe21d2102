import { test } from "node:test";
import { claimResource } from "../data-service.ts";
import { type ChangeCase, type ClaimCase, startClaimServer, verdict } from "../testing/claim-server.ts";

const claims = claimResource("SearchInstance");
const server = await startClaimServer("search-claims");

const instance = (spec: object = {}): object => ({
  service: "a9s-search2",
  plan: "search-single-small-ssl",
  ...spec,
});

const cases: readonly ClaimCase[] = [
  ["an instance without a compositionRef", instance(), undefined],
  ["an unknown plan", instance({ plan: "search-cluster-nano-ssl" }), /Unsupported plan used/],
  ["an unknown service", instance({ service: "a9s-other" }), /Unsupported service used/],
  ["a heap", instance({ parameters: { javaHeapspace: 256, javaGarbageCollector: "UseG1GC" } }), undefined],
  [
    "too small a heap",
    instance({ parameters: { javaHeapspace: 255 } }),
    /Must be greater than or equal to 256/,
  ],
  [
    "another garbage collector",
    instance({ parameters: { javaGarbageCollector: "UseZGC" } }),
    /Unsupported value: "UseZGC"/,
  ],
  ["versions of TLS", instance({ parameters: { tlsProtocols: ["TLSv1.2", "TLSv1.3"] } }), undefined],
];
for (const [index, [what, spec, message]] of cases.entries())
  test(`${verdict(message)}: ${what}`, () => server.claim(claims, `claim-${index}`, spec, message));

const changes: readonly ChangeCase[] = [
  ["a larger plan", instance(), { plan: "search-single-big-ssl" }, undefined],
  ["several servers", instance(), { plan: "search-cluster-small-ssl" }, undefined],
  ["a smaller plan", instance(), { plan: "search-single-nano-ssl" }, /bigger to smaller plan size/],
  [
    "a single server",
    instance({ plan: "search-cluster-small-ssl" }),
    { plan: "search-single-big-ssl" },
    /from clustered to single/,
  ],
];
for (const [index, change] of changes.entries())
  test(`${verdict(change[3])}: a change to ${change[0]}`, () =>
    server.change(claims, `change-${index}`, change));
