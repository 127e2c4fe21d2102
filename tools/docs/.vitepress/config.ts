/** Gives VitePress its configuration, which it takes from this file's default export. */
import type { UserConfig } from "vitepress";
import type * as Site from "../site.ts";

// An address in a variable keeps VitePress from bundling what Node runs as it is.
const address = new URL("../site.ts", import.meta.url).href;
const { repositorySite } = (await import(address)) as typeof Site;
const config: UserConfig = repositorySite();
export default config;
