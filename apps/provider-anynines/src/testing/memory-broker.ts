/** A broker in memory that has every instance at once, for tests in virtual time that are about something else. */
import type { OsbClient } from "@klutch/osb";
import type { Brokers } from "../broker/brokers.ts";
import { catalogOf } from "./catalog.ts";

const catalog = catalogOf();

const osb = {
  provision: async () => ({ kind: "done" }),
  fetchInstance: async () => ({ planId: "p", serviceId: "s" }),
  update: async () => ({ kind: "done" }),
  deprovision: async () => ({ kind: "done" }),
  bind: async () => ({ kind: "done", credentials: { password: "p" } }),
  fetchBinding: async () => ({ credentials: { password: "p" } }),
  unbind: async () => ({ kind: "done" }),
} as unknown as OsbClient;

/** The same for each ProviderConfig. */
export const memoryBrokers: Pick<Brokers, "get"> = {
  get: async () => ({ osb, catalog: async () => catalog, [Symbol.asyncDispose]: async () => undefined }),
};
