/**
 * A value that must not be printed. Turning it into text or JSON gives "[redacted]"; `util.inspect` shows no private field.
 */
export class Secret<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** The value itself, for the one place that uses it. */
  reveal(): T {
    return this.#value;
  }

  toJSON(): string {
    return "[redacted]";
  }

  toString(): string {
    return "[redacted]";
  }
}
