/** The environment variables the test command reads. */

/** Path of the browser to use instead of searching for one. */
export const chromiumOverride: string | undefined = process.env["KLUTCH_CHROMIUM"];

/** Where programs are searched for. */
export const searchPath: string = process.env["PATH"] ?? "";
