/** The names that one executable goes by. */
import { basename } from "node:path";

/** First argument of a completion call, as in programs with cobra; the other arguments are words, of which the last is to be completed. */
export const completionWord = "__complete";

/** Returns the started program and its arguments. Under the name that kubectl calls for completion, the arguments are words to complete. */
export function programOf(argv: readonly string[]): {
  readonly name: "klutch" | "kubectl-bind";
  readonly args: readonly string[];
} {
  const started = basename(argv[1] ?? "");
  const args = argv.slice(2);
  if (started.startsWith("kubectl_complete-"))
    return { name: "kubectl-bind", args: [completionWord, ...args] };
  return { name: started.startsWith("klutch") ? "klutch" : "kubectl-bind", args };
}
