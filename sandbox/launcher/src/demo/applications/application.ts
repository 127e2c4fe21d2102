/** Defines an application that uses a data service and knows only the Secret of its binding. */

/** Values by key of the Secret. */
export type Credentials = Readonly<Record<string, string>>;

/** Each method throws with the server's words. */
export interface Application {
  /** Writes the words, and says what answered whom. */
  write(credentials: Credentials, words: string): Promise<{ readonly server: string; readonly who: string }>;
  /** Destroys what was written, and says how. */
  destroy(credentials: Credentials): Promise<string>;
  /** The words that were written. */
  read(credentials: Credentials): Promise<string>;
  /** Returns true if nothing of the instance is left at the broker; checked without its credentials. */
  isGone(credentials: Credentials): Promise<boolean>;
}
