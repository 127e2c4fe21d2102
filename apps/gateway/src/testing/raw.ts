/** Bytes on the wire that no client of ours would send. */
import { once } from "node:events";
import { connect } from "node:tls";
import type { ClusterConfig } from "@klutch/kube";

/** Sends lines of a request over HTTP/1.1 and returns the codes of all answers until the connection ends or is silent for a second. */
export async function rawAnswers(
  { ca }: ClusterConfig,
  port: number,
  lines: readonly string[],
): Promise<{ readonly codes: readonly number[]; readonly text: string }> {
  const socket = connect({ host: "127.0.0.1", port, ca, ALPNProtocols: ["http/1.1"] });
  await once(socket, "secureConnect");
  let text = "";
  socket.on("data", (chunk) => (text += String(chunk)));
  socket.setTimeout(1_000, () => socket.destroy());
  socket.on("error", () => undefined);
  socket.write(lines.join("\r\n"));
  await once(socket, "close");
  return { codes: [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code)), text };
}

/** Returns the token of an account as it stands in a request. */
export function tokenOf({ auth }: ClusterConfig): string {
  if (auth.kind !== "token") throw new Error("raw requests go out with a token");
  return `Bearer ${auth.token.reveal()}`;
}
