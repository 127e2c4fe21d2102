/** A flag as data: what it is called, what it says, what it takes. Help, documentation and the reader use the same table. */
import { parseDuration } from "@klutch/kube-core";

/** One flag, or one environment variable that has no flag. */
export interface Flag<T> {
  /** One sentence without a full stop. */
  readonly help: string;
  /** Name of its value, such as `port`. Absent for a switch. */
  readonly value?: string | undefined;
  /** One letter. */
  readonly short?: string | undefined;
  /** Environment variable that is read when the flag is not given, or is empty. */
  readonly env?: string | undefined;
  /** The environment variable is the only way to set it. Default false. */
  readonly envOnly?: boolean | undefined;
  /** May be given several times. Default false. */
  readonly repeats?: boolean | undefined;
  /** It must be given. Default false. */
  readonly required?: boolean | undefined;
  /** Default value, as it would be typed. */
  readonly default?: string | undefined;
  /** Its value never stands in a message. Default false. */
  readonly secret?: boolean | undefined;
  /** Gets each given text, or the default, or nothing. Throws `FlagFault` when a text does not fit. */
  read(texts: readonly string[]): T;
}

/** The flags of a program by their names. */
export type FlagTable = Readonly<Record<string, Flag<unknown>>>;

/** Values that a table's flags are read to. */
export type ValuesOf<T extends FlagTable> = { readonly [K in keyof T]: ReturnType<T[K]["read"]> };

/** Says after the flag's name and value what would be right, such as `must be a port number`. */
export class FlagFault extends Error {
  readonly code = "Flag";
  /** Shows the value before the message. Default true. */
  readonly showsValue: boolean;

  constructor(message: string, options: { readonly showsValue?: boolean } = {}) {
    super(message);
    this.showsValue = options.showsValue ?? true;
  }
}

/** Words that every kind of flag takes. */
export type FlagWords = Pick<
  Flag<unknown>,
  "help" | "value" | "short" | "env" | "envOnly" | "default" | "secret"
>;

/** Creates a flag with a text; undefined when it is not given or empty. */
export function optionalText(words: FlagWords): Flag<string | undefined> {
  return { value: "text", ...words, read: ([text = ""]) => text || undefined };
}

/** Creates a flag with a text that must not be empty. Required when it has no default. */
export function text(words: FlagWords): Flag<string> {
  return {
    value: "text",
    required: words.default === undefined,
    ...words,
    read([given]) {
      if (given === "") throw new FlagFault("must not be empty", { showsValue: false });
      return given ?? "";
    },
  };
}

/** Creates a switch: false unless it is given; also understands `--name=true` and `--name=false`. */
export function toggle(words: Omit<FlagWords, "value" | "secret">): Flag<boolean> {
  return {
    default: "false",
    ...words,
    read([given = "false"]) {
      if (given !== "true" && given !== "false") throw new FlagFault("must be true or false");
      return given === "true";
    },
  };
}

/** A whole number within bounds. `rule`: what would be right, such as `must be 0 (never hold) or more`. */
export function wholeNumber(
  words: FlagWords & { readonly default: string },
  bounds: { readonly least: number; readonly most?: number; readonly rule?: string },
): Flag<number> {
  const { least, most = 999_999_999 } = bounds;
  const { rule = `must be a whole number from ${least} to ${most}` } = bounds;
  return {
    value: "number",
    ...words,
    read([given = ""]) {
      const number = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
      if (!(number >= least && number <= most)) throw new FlagFault(rule);
      return number;
    },
  };
}

/** Creates a flag with a TCP port. 0 chooses a free one. */
export function port(words: FlagWords & { readonly default: string }): Flag<number> {
  const rule = "must be a port number from 0 to 65535";
  return wholeNumber({ value: "port", ...words }, { least: 0, most: 65_535, rule });
}

/** A listening address. */
export interface Address {
  /** Undefined: all interfaces. */
  readonly host: string | undefined;
  readonly port: number;
}

/** Creates a flag with `host:port`; without a host all interfaces. Port 0 chooses a free one. */
export function address(words: FlagWords & { readonly default: string }): Flag<Address> {
  return {
    value: "host:port",
    ...words,
    read([given = ""]) {
      const { host = "", port: digits = "" } = /^(?<host>.*):(?<port>\d{1,5})$/.exec(given)?.groups ?? {};
      const number = digits === "" ? Number.NaN : Number(digits);
      if (!(number <= 65_535)) throw new FlagFault("must be host:port, such as 127.0.0.1:8080 or :8080");
      return { host: host || undefined, port: number };
    },
  };
}

/** Creates a flag with a duration in Go's notation, read to milliseconds. */
export function duration(words: FlagWords & { readonly default: string }): Flag<number> {
  return {
    value: "duration",
    ...words,
    read([given = ""]) {
      const result = parseDuration(given);
      if (result === undefined) throw new FlagFault("must be a duration such as 90s, 1m or 24h");
      return result;
    },
  };
}

/** Creates a flag with one of some words, in any case of letters. */
export function oneOf<const T extends string>(
  allowed: readonly T[],
  words: FlagWords & { readonly default: NoInfer<T> },
): Flag<T> {
  return {
    value: allowed.join("|"),
    ...words,
    read([given = ""]) {
      const found = allowed.find((one) => one.toLowerCase() === given.toLowerCase());
      if (found === undefined) throw new FlagFault(`must be one of ${allowed.join(", ")}`);
      return found;
    },
  };
}

/** Returns the same flag, undefined when it is not given. */
export function optional<T>({
  default: _default,
  required: _required,
  ...flag
}: Flag<T>): Flag<T | undefined> {
  return { ...flag, read: (texts) => (texts.length === 0 ? undefined : flag.read(texts)) };
}

/** Creates a flag that Crossplane's and Go's programs take and ours ignore. */
export function ignored(words: Omit<FlagWords, "help">): Flag<undefined> {
  return { help: "Accepted for existing manifests, without effect", ...words, read: () => undefined };
}
