/** What an application does with a data service, knowing nothing but the Secret of its binding. */

/** By key of the Secret. */
export type Credentials = Readonly<Record<string, string>>;

/** Each method throws with the server's words. */
export interface Application {
  /** Writes the words, and says what answered whom. */
  write(credentials: Credentials, words: string): Promise<{ readonly server: string; readonly who: string }>;
  /** Destroys what was written, and says how. */
  destroy(credentials: Credentials): Promise<string>;
  /** The words that were written. */
  read(credentials: Credentials): Promise<string>;
  /** Whether nothing of the instance is left at the broker; told without its credentials. */
  isGone(credentials: Credentials): Promise<boolean>;
}
