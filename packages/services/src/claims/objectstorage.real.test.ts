import { test } from "node:test";
import { claimResource } from "../data-service.ts";
import { type ChangeCase, type ClaimCase, startClaimServer, verdict } from "../testing/claim-server.ts";

const claims = claimResource("ObjectstorageInstance");
const server = await startClaimServer("objectstorage-claims");

const instance = (spec: object = {}): object => ({
  service: "klutch-objectstorage",
  plan: "objectstorage-small",
  ...spec,
});
const inRegion = (region: unknown): object => instance({ parameters: { region } });

const cases: readonly ClaimCase[] = [
  ["an instance without a compositionRef", instance(), undefined],
  ["an unknown plan", instance({ plan: "objectstorage-tiny" }), /Unsupported plan used/],
  ["an unknown service", instance({ service: "a9s-other" }), /Unsupported service used/],
  ["a region", inRegion("eu-central-1"), undefined],
  ["a region in capitals", inRegion("EU"), /should match/],
  ["a region that is a number", inRegion(1), /must be of type string/],
  ["objects that go with the instance", instance({ parameters: { deleteObjects: true } }), undefined],
  ["a word for true", instance({ parameters: { deleteObjects: "yes" } }), /must be of type boolean/],
];
for (const [index, [what, spec, message]] of cases.entries())
  test(`${verdict(message)}: ${what}`, () => server.claim(claims, `claim-${index}`, spec, message));

const region = /parameters\.region cannot be changed, because the Secrets of bindings contain it/;
const changes: readonly ChangeCase[] = [
  ["a larger plan", instance(), { plan: "objectstorage-big" }, undefined],
  ["a smaller plan", instance(), { plan: "objectstorage-nano" }, /bigger to smaller plan size/],
  ["objects that go with it", inRegion("eu-1"), { parameters: { deleteObjects: true } }, undefined],
  ["another region", inRegion("eu-1"), { parameters: { region: "eu-2" } }, region],
  ["a region", instance(), { parameters: { region: "eu-1" } }, region],
  ["no region", inRegion("eu-1"), { parameters: null }, region],
  ["the default by its name", instance(), { parameters: { region: "us-east-1" } }, undefined],
];
for (const [index, change] of changes.entries())
  test(`${verdict(change[3])}: a change to ${change[0]}`, () =>
    server.change(claims, `change-${index}`, change));
