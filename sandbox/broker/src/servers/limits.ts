/** Limits that the kernel holds, whatever a tenant does in the server. */
import type { Launch, ServerSpec } from "./kind.ts";

/** A file beyond its size is an error of the write, and no end of the server. `ulimit` counts KiB, and blocks of 512 bytes. */
const script = 'trap "" XFSZ; ulimit -d "$1" && ulimit -f "$2" && ulimit -c 0 && shift 2 && exec "$@"';

/** The same command, which cannot have more memory of its own than the plan's, nor any file larger than the plan's disk. */
export function limited(
  launch: Pick<Launch, "command" | "args" | "memoryMiB">,
  spec: Pick<ServerSpec, "diskMiB">,
): { readonly command: string; readonly args: readonly string[] } {
  const limits = [String(launch.memoryMiB * 1024), String(spec.diskMiB * 2048)];
  return { command: "/bin/sh", args: ["-c", script, "limited", ...limits, launch.command, ...launch.args] };
}
