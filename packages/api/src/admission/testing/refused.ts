/** Finds the message with which an admission policy refuses a request. */
import assert from "node:assert/strict";
import { isForbidden } from "@klutch/kube";

/** The server forbids the request, and says so in such words. */
export async function refused(work: Promise<unknown>, reason: RegExp): Promise<void> {
  await assert.rejects(work, (error: unknown) => {
    assert.ok(isForbidden(error), String(error));
    assert.match(error.message, reason);
    return true;
  });
}
