/** Answers that change nothing. */
import type { ComposeResponse, ComposeResult } from "@klutch/crossplane";

/** An event on the claim. */
export function serviceProblem(message: string): ComposeResult {
  return { severity: "warning", reason: "ServiceProblem", message };
}

/** Stops the pipeline. The claim is warned first: a fatal result reaches the composite only. */
export function refusal(message: string): ComposeResponse {
  return { resources: {}, results: [serviceProblem(message), { severity: "fatal", message }] };
}
