/** A server that runs, as far as its databases and logins are concerned. */
export interface Server {
  /** Of the superuser. */
  readonly url: URL;
  /** From it passwords are derived. */
  readonly key: string;
  readonly dumpPrograms: string | undefined;
  readonly dumpLibraries: string | undefined;
}
