import { test } from "node:test";
import { claimResource } from "../data-service.ts";
import { type ChangeCase, type ClaimCase, startClaimServer, verdict } from "../testing/claim-server.ts";

const claims = claimResource("MongodbInstance");
const server = await startClaimServer("mongodb-claims");

const instance = (spec: object = {}): object => ({
  service: "a9s-mongodb70",
  plan: "mongodbsspl-single-small-ssl",
  ...spec,
});

const cases: readonly ClaimCase[] = [
  ["an instance without a compositionRef", instance(), undefined],
  ["an unknown plan", instance({ plan: "mongodbsspl-replica-nano" }), /Unsupported plan used/],
  ["an unknown service", instance({ service: "a9s-other" }), /Unsupported service used/],
  [
    "images for a day",
    instance({
      parameters: {
        setClusterParameter: { changeStreamOptions: { preAndPostImages: { expireAfterSeconds: 86400 } } },
      },
    }),
    undefined,
  ],
  [
    "images as long as the server wants",
    instance({
      parameters: {
        setClusterParameter: { changeStreamOptions: { preAndPostImages: { expireAfterSeconds: "off" } } },
      },
    }),
    undefined,
  ],
  [
    "images for less than no time",
    instance({
      parameters: {
        setClusterParameter: { changeStreamOptions: { preAndPostImages: { expireAfterSeconds: -1 } } },
      },
    }),
    /Must be greater than or equal to 0/,
  ],
  [
    "images for a word",
    instance({
      parameters: {
        setClusterParameter: { changeStreamOptions: { preAndPostImages: { expireAfterSeconds: "on" } } },
      },
    }),
    /Must be greater than or equal to 0/,
  ],
];
for (const [index, [what, spec, message]] of cases.entries())
  test(`${verdict(message)}: ${what}`, () => server.claim(claims, `claim-${index}`, spec, message));

const changes: readonly ChangeCase[] = [
  ["a larger plan", instance(), { plan: "mongodbsspl-single-big-ssl" }, undefined],
  ["several servers", instance(), { plan: "mongodbsspl-replica-small-ssl" }, undefined],
  ["a smaller plan", instance(), { plan: "mongodbsspl-single-nano-ssl" }, /bigger to smaller plan size/],
  ["a plan without TLS", instance(), { plan: "mongodbsspl-single-big" }, /from Non-SSL to SSL/],
  [
    "a single server",
    instance({ plan: "mongodbsspl-replica-small-ssl" }),
    { plan: "mongodbsspl-single-big-ssl" },
    /from replicated to single/,
  ],
  ["another version", instance(), { service: "a9s-mongodb50" }, /Service is an immutable field/],
];
for (const [index, change] of changes.entries())
  test(`${verdict(change[3])}: a change to ${change[0]}`, () =>
    server.change(claims, `change-${index}`, change));
