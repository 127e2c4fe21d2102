/**
 * Response headers may arrive just after their request was aborted. Node then makes another stream for them, which neither the caller nor
 * undici knows: no one listens to its errors, so that an unclean end of its connection would end the process.
 */
import type { ClientHttp2Stream } from "node:http2";

/** Takes messages of the diagnostics channel `http2.client.stream.created` and closes such streams. */
export function closeLateStream(message: unknown): void {
  const { stream } = message as { readonly stream: ClientHttp2Stream };
  // What a request has opened knows the headers that it sent.
  if (stream.sentHeaders !== undefined) return;
  stream.on("error", () => undefined);
  // Node is not done with it yet.
  process.nextTick(() => stream.destroy());
}
