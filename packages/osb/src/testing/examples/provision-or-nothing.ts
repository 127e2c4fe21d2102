import { isRefusal, mayHaveLeftOrphan, needsOrphanMitigation, type OsbClient } from "@klutch/osb";
import type { ProvisionRequest } from "@klutch/osb";

/** Asks for an instance. After an error nothing of it is left, or the error says that the same call has to be made once more. */
export async function provisionOrNothing(broker: OsbClient, request: ProvisionRequest): Promise<void> {
  try {
    await broker.provision(request);
  } catch (error) {
    if (isRefusal(error)) throw new Error(`the broker does not want to: ${error.message}`, { cause: error });
    // Keep on trying until this succeeds: an orphan costs money, and no one sees it.
    if (needsOrphanMitigation(error)) await broker.deprovision(request);
    else if (mayHaveLeftOrphan(error))
      throw new Error("ask once more, with the same identifier", { cause: error });
    throw error;
  }
}
