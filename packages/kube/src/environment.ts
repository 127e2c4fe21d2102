/** This process's environment, the default where a caller gives none. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}
