/** Flags that several programs have, with the same words in each. */
import { type Address, address, type Flag, type FlagWords, optionalText } from "./flag.ts";

/** The holder of the lease. A program that gets none takes a random name. */
export const identityFlag: Flag<string | undefined> = optionalText({
  help: "The holder of the lease, unique among the replicas; a random name when it is not set",
  env: "POD_NAME",
  envOnly: true,
});

/** Address of probes and metrics, for programs whose flag is named as in Crossplane's providers. */
export function probesFlag(words: Pick<FlagWords, "env"> & { readonly default: string }): Flag<Address> {
  return address({
    help: "Where /healthz, /readyz and /metrics are served; port 0 chooses a free one",
    ...words,
  });
}
