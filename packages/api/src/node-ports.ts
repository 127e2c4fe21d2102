/**
 * A way from other clusters to servers of one Pod that are made while it runs: a node port for each port that one may get, with the
 * same number, so that what a server is told to listen on is what applications connect to. Every node of the cluster answers there.
 */
import type { Manifest } from "./konnector-manifests.ts";

/** Ports in a row, of those that the API server never gives out by itself: 30000 to 30085 (KEP-3668). */
export interface NodePorts {
  readonly first: number;
  readonly last: number;
}

/** The Service. Other programs in the cluster may not have these node ports; then the API server refuses it and names the port. */
export function nodePortService(
  metadata: Manifest["metadata"],
  selector: Readonly<Record<string, string>>,
  { first, last }: NodePorts,
): Manifest {
  const ports = Array.from({ length: last - first + 1 }, (_, index) => {
    const port = first + index;
    return { name: `data-${port}`, port, targetPort: port, nodePort: port };
  });
  return { apiVersion: "v1", kind: "Service", metadata, spec: { type: "NodePort", selector, ports } };
}
