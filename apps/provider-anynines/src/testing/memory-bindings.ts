/**
 * A fake broker of bindings, because faults between two calls, and lies, cannot be had from a real one on demand. A binding's login works
 * from its bind to its unbind; a bind that is repeated gives the same login.
 */
import { ApiError, TransportError } from "@klutch/kube";
import {
  type BindOutcome,
  type BindRequest,
  type Catalog,
  OsbError,
  OsbTransportError,
  type OsbClient,
  type Outcome,
} from "@klutch/osb";
import type { Broker } from "../broker/brokers.ts";
import { catalogOf } from "./catalog.ts";
import type { Effect } from "./memory-manager.ts";

/** Behaviour in place of the next binds. */
export type BindLie = (request: BindRequest) => BindOutcome | Error | undefined;

/** One broker with one instance. */
export class MemoryBindings {
  /** Password of each login that works, by id of its binding. */
  readonly logins: Map<string, string> = new Map();
  /** Binds, in order. */
  readonly binds: BindRequest[] = [];
  /** Ids of unbinds, in order. */
  readonly unbinds: string[] = [];
  /** True when binds and unbinds take a while. */
  isSlow = false;
  isRetrievable = true;
  isRotatable = false;
  lie: BindLie | undefined;
  /** The end of the next slow bind. */
  endsAs: "succeeded" | "failed" = "succeeded";
  #made = 0;
  readonly #polls = new Map<string, number>();

  /** A client whose changing calls are effects. */
  broker(effect: Effect): Broker {
    const osb: Partial<OsbClient> = {
      bind: (request) => asBroker(() => effect("bind", async () => this.#bind(request))),
      unbind: ({ bindingId }) => asBroker(() => effect("unbind", async () => this.#unbind(bindingId))),
      fetchBinding: async (_instanceId, bindingId) => {
        const password = this.logins.get(bindingId);
        if (password === undefined) throw refusal(404, "there is no such binding");
        return { credentials: { user: bindingId, password } };
      },
      lastOperation: async ({ bindingId = "" }) => {
        const polls = (this.#polls.get(bindingId) ?? 0) + 1;
        this.#polls.set(bindingId, polls);
        if (polls < 2) return { state: "in progress", description: "" };
        this.#polls.delete(bindingId);
        return { state: this.endsAs, description: this.endsAs === "failed" ? "no more logins" : "" };
      },
    };
    // These tests call no other method.
    return { osb: osb as OsbClient, catalog: async () => this.#catalog() };
  }

  #bind(request: BindRequest): BindOutcome {
    this.binds.push(request);
    const lie = this.lie?.(request);
    if (lie instanceof Error) throw lie;
    const { bindingId } = request;
    const password = this.logins.get(bindingId) ?? `password ${++this.#made}`;
    this.logins.set(bindingId, password);
    if (lie !== undefined) return lie;
    return this.isSlow
      ? { kind: "accepted", operation: "bind" }
      : { kind: "done", credentials: { user: bindingId, password } };
  }

  #unbind(bindingId: string): Outcome {
    this.unbinds.push(bindingId);
    this.logins.delete(bindingId);
    return this.isSlow ? { kind: "accepted", operation: "unbind" } : { kind: "done" };
  }

  #catalog(): Catalog {
    return catalogOf({ bindingsRetrievable: this.isRetrievable }, [{ bindingRotatable: this.isRotatable }]);
  }
}

/** A refusal in the broker's own words. */
export function refusal(status: number, description: string, error = ""): OsbError {
  return new OsbError({ status, error, description, own: true, action: "PUT x" });
}

/** The faults of effects are those of an API server. */
async function asBroker<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof TransportError) throw new OsbTransportError("Broken", error.message);
    if (!(error instanceof ApiError)) throw error;
    throw error.status === 409 ? refusal(422, "", "ConcurrencyError") : refusal(400, error.message);
  }
}
