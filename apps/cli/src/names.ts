/** The names that one executable goes by. */
import { basename } from "node:path";

/** As the first argument: the others are words, of which the last is to be completed. Cobra's programs have the same. */
export const completionWord = "__complete";

/** Which program was started, and with what. Under the name that kubectl calls for completion, the arguments are words to complete. */
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
