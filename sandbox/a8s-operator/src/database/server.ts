/** A server that runs, as far as its databases and logins are concerned. */
export interface Server {
  /** Of the superuser, by loopback. */
  readonly url: URL;
  /** Name or address by which applications reach it, at the same port. */
  readonly host: string;
  /** PEM; what clients trust. */
  readonly authority: string;
  /** From it passwords are derived. */
  readonly key: string;
  readonly dumpPrograms: string | undefined;
  readonly dumpLibraries: string | undefined;
}
