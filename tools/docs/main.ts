/** `npm run docs:site`: builds the web site in dist/site. Exits with 1, and writes nothing, when a link leads nowhere. */
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { build, serve } from "vitepress";
import { openTree } from "../checks/tree.ts";
import { repositoryRoot } from "../root.ts";
import { brokenLinks, siteRoot } from "./site.ts";

const { values } = parseArgs({
  options: {
    base: { type: "string", default: "/" },
    earlier: { type: "string", multiple: true, default: [] },
    out: { type: "string", default: join(repositoryRoot, "dist", "site") },
    serve: { type: "boolean", default: false },
  },
});
const problems = await brokenLinks(openTree());
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exitCode = 1;
} else {
  process.env["KLUTCH_SITE_BASE"] = values.base;
  process.env["KLUTCH_SITE_EARLIER"] = values.earlier.join(" ");
  process.env["KLUTCH_SITE_OUT"] = resolve(values.out);
  process.env["NODE_ENV"] = "production";
  await build(siteRoot, { base: values.base });
  console.log(`The site is in ${values.out}; \`npm run docs:site -- --serve\` shows it in a browser.`);
  if (values.serve) await serve({ root: siteRoot, base: values.base });
}
