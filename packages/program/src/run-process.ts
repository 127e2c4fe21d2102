/** Runs a program as a process: flags, logger, signals and exit code around its own parts. */
import { randomUUID } from "node:crypto";
import { createLogger, createMetrics, type LogLevel, readTracing, startTracing } from "@klutch/telemetry";
import { type Runtime, systemRuntime } from "@klutch/kube-runtime";
import { helpText, type ProgramDescription } from "./help.ts";
import { tuneMemory } from "./memory.ts";
import { ConfigError, type FlagSource } from "./read-flags.ts";
import { type SignalSource, stopOnSignals } from "./stop-signals.ts";

/** Source of a program's configuration. */
export interface ConfigSource extends FlagSource {
  /** For names that must be unique, such as that of a lease's holder. */
  readonly randomName: () => string;
}

/** A server with its configuration. */
export interface Program<C extends { readonly logLevel: LogLevel }> extends ProgramDescription {
  /** Throws `ConfigError`. */
  readonly readConfig: (source: ConfigSource) => C | Promise<C>;
}

/** Part of Node's `process` that is used. */
export interface ProcessHandle extends SignalSource {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  exitCode?: number | string | null | undefined;
}

/** Runtime of a program. The signal aborts when the process is told to stop. */
export interface ProcessRuntime extends Runtime {
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Answers `--help` and `--version`, reads the configuration, and runs. The exit code is 0 when the program ended in order, 1 when it
 * failed, and 2 when its flags or its environment are wrong; then each fault stands on a line of its own.
 */
export async function runProcess<C extends { readonly logLevel: LogLevel }>(
  program: Program<C>,
  handle: ProcessHandle,
  run: (config: C, runtime: ProcessRuntime) => Promise<void>,
): Promise<void> {
  const { env, stdout, stderr } = handle;
  const args = handle.argv.slice(2);
  if (args.includes("--help") || args.includes("-h")) return void stdout.write(helpText(program));
  if (args.includes("--version")) return void stdout.write(`${program.name} ${program.version}\n`);
  tuneMemory();
  const config = await configOf(program, { args, env, randomName: randomUUID });
  const tracing = readTracing(env, program.name);
  const faults = [...(config instanceof ConfigError ? config.faults : []), ...tracing.faults];
  if (config instanceof ConfigError || faults.length > 0) {
    stderr.write(`${faults.join("\n")}\n`);
    handle.exitCode = 2;
    return;
  }
  const logger = createLogger({ name: program.name, level: config.logLevel });
  const runtime = systemRuntime({ logger, metrics: createMetrics({ processMetrics: true }) });
  try {
    const signal = stopOnSignals(handle, logger);
    if (tracing.config === undefined) return await run(config, { ...runtime, signal, env });
    const { version } = program;
    await using tracer = await startTracing({ ...runtime, version, config: tracing.config });
    await run(config, { ...runtime, tracer, signal, env });
  } catch (error) {
    logger.error("the process failed", { error });
    handle.exitCode = 1;
  }
}

async function configOf<C extends { readonly logLevel: LogLevel }>(
  program: Program<C>,
  source: ConfigSource,
): Promise<C | ConfigError> {
  try {
    return await program.readConfig(source);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}
