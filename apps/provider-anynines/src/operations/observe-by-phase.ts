/** Which observation a recorded operation asks for, the same for instances and bindings. */
import type { CallOptions, Observation } from "@klutch/crossplane";
import type { BrokerOperation } from "../records/operation.ts";
import { toExternalError } from "./broker-error.ts";

/** Observes one managed resource in each phase of its operation, and while there is none. */
export interface PhaseObserver {
  /** A call was on its way when the process ended or the connection broke: the same call again answers. */
  observeUnanswered(): Observation;
  /** The broker accepted and works. */
  observeOperation(options: CallOptions): Promise<Observation>;
  /** The broker said that it failed. */
  observeFailure(options: CallOptions): Observation | Promise<Observation>;
  observeAtRest(options: CallOptions): Promise<Observation>;
}

/** Observes as the operation's phase asks for. What goes wrong at the broker reaches the condition in the broker's own words. */
export async function observeByPhase(
  operation: BrokerOperation | undefined,
  observer: PhaseObserver,
  options: CallOptions,
): Promise<Observation> {
  try {
    switch (operation?.phase) {
      case "calling":
        return observer.observeUnanswered();
      case "polling":
        return await observer.observeOperation(options);
      case "failed":
        return await observer.observeFailure(options);
      case undefined:
        return await observer.observeAtRest(options);
    }
  } catch (error) {
    throw toExternalError(error, "question");
  }
}

/** What the broker said when it failed, for the condition. */
export function failureMessage(operation: BrokerOperation | undefined): string {
  const { type = "operation", description = "the broker gave no reason" } = operation ?? {};
  return `${type} failed: ${description}`;
}
