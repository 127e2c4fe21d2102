/** The parts that all benchmark programs share: their options, the machine that they ran on, and their exit code. */
import { parseArgs } from "node:util";
import { exitCodeOf, wholeNumber } from "@klutch/kube-testing";
import { keepAwake } from "./awake.ts";
import { cpuTicks, describeLoad, describeMachine, stolenPercent } from "./machine.ts";

/** Options with their defaults, whose kinds they have: whole numbers above 0, or texts. */
type Defaults = Readonly<Record<string, number | string>>;

/** Values of the options. */
type Chosen<D extends Defaults> = { readonly [Name in keyof D]: D[Name] extends number ? number : string };

/** Options of a benchmark program. */
interface ProgramOptions {
  /** Keeps the processors awake meanwhile. Default false. */
  readonly awake?: boolean;
}

/**
 * Runs a benchmark with the options of the command line and returns its exit code: 1 when `measure` gives false, 2 for a command line that
 * is wrong. Prints the machine before, and the load and the CPU time that was missing after it.
 */
export function runBenchmark<D extends Defaults>(
  defaults: D,
  measure: (options: Chosen<D>) => Promise<boolean | void>,
  { awake = false }: ProgramOptions = {},
): Promise<number> {
  return exitCodeOf(async () => {
    const options = parseOptions(defaults, process.argv.slice(2));
    await using stack = new AsyncDisposableStack();
    const isAwake = awake && stack.use(await keepAwake()).isAwake;
    console.log(`machine ${describeMachine()}${isAwake ? "; processors kept awake" : ""}`);
    const ticks = cpuTicks();
    const isGood = await measure(options);
    const stolen = stolenPercent(ticks, cpuTicks()).toFixed(0);
    console.log(`load ${describeLoad()}; the host withheld ${stolen} % of the CPU time`);
    return isGood === false ? 1 : 0;
  });
}

function parseOptions<D extends Defaults>(defaults: D, args: readonly string[]): Chosen<D> {
  const { values } = parseArgs({
    args: args.filter((argument) => argument !== "--"),
    options: Object.fromEntries(Object.keys(defaults).map((name) => [name, { type: "string" as const }])),
  });
  const chosen = Object.entries(defaults).map(([name, usual]) => {
    const text = values[name];
    if (typeof text !== "string") return [name, usual];
    return [name, typeof usual === "number" ? wholeNumber(name, text) : text];
  });
  return Object.fromEntries(chosen) as Chosen<D>;
}
