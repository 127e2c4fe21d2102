import { test } from "node:test";
import { claimResource } from "../data-service.ts";
import { type ChangeCase, type ClaimCase, startClaimServer, verdict } from "../testing/claim-server.ts";

const claims = claimResource("Logme2Instance");
const server = await startClaimServer("logme2-claims");

const instance = (spec: object = {}): object => ({
  service: "a9s-logme2",
  plan: "logme-single-small-ssl",
  ...spec,
});

const cases: readonly ClaimCase[] = [
  ["an instance without a compositionRef", instance(), undefined],
  ["an unknown plan", instance({ plan: "logme-single-big-ssl" }), /Unsupported plan used/],
  ["an unknown service", instance({ service: "a9s-other" }), /Unsupported service used/],
  ["a port", instance({ parameters: { fluentdTcp: 5140 } }), undefined],
  ["port 0", instance({ parameters: { fluentdTcp: 0 } }), /Must be greater than 0/],
  [
    "a port that is too high",
    instance({ parameters: { fluentdUdp: 65536 } }),
    /Must be less than or equal to 65535/,
  ],
  [
    "too small a heap",
    instance({ parameters: { javaHeapspace: 255 } }),
    /Must be greater than or equal to 256/,
  ],
  [
    "too large a metaspace",
    instance({ parameters: { javaMaxmetaspace: 1025 } }),
    /Must be less than or equal to 1024/,
  ],
  ["half a jitter", instance({ parameters: { ismJitter: 0.5 } }), undefined],
  [
    "versions of TLS as each part calls them",
    instance({ parameters: { fluentdTlsVersion: "TLS1_2", opensearchTlsProtocols: ["TLSv1.2"] } }),
    undefined,
  ],
  ["patterns", instance({ parameters: { groks: [{ pattern: "%{IP}" }] } }), undefined],
  ["a pattern without a pattern", instance({ parameters: { groks: [{}] } }), /pattern: Required value/],
];
for (const [index, [what, spec, message]] of cases.entries())
  test(`${verdict(message)}: ${what}`, () => server.claim(claims, `claim-${index}`, spec, message));

const changes: readonly ChangeCase[] = [
  ["several servers", instance(), { plan: "logme-cluster-small-ssl" }, /from single to clustered/],
  [
    "a single server",
    instance({ plan: "logme-cluster-small-ssl" }),
    { plan: "logme-single-small-ssl" },
    /from clustered to single/,
  ],
];
for (const [index, change] of changes.entries())
  test(`${verdict(change[3])}: a change to ${change[0]}`, () =>
    server.change(claims, `change-${index}`, change));
