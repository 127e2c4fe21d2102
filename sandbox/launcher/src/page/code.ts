/** Commands in the pages of docs/, which are run word for word. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** A block of code in a page. */
export interface PageBlock {
  /** The heading that it stands under, without its marks. */
  readonly heading: string;
  /** Language after the opening fence. */
  readonly language: string;
  readonly text: string;
}

/** A block of code in a page, with the language that stands behind its fence. */
export type CodeBlock = readonly [language: string, text: string];

const root = join(import.meta.dirname, "..", "..", "..", "..");

/** The fenced code of a page, named by its path from the root of the repository, in the order of the text. Indented code is only shown. */
export async function blocksIn(page: string): Promise<readonly PageBlock[]> {
  const text = await readFile(join(root, page), "utf8");
  const blocks: PageBlock[] = [];
  let heading = "";
  for (const [, title, language = "", code = ""] of text.matchAll(/^#+ (.*)$|^```(\w+)\n([^]*?)^```$/gm)) {
    if (title === undefined) blocks.push({ heading, language, text: code });
    else heading = title;
  }
  return blocks;
}

/** The same without headings. */
export async function codeIn(page: string): Promise<readonly CodeBlock[]> {
  return (await blocksIn(page)).map(({ language, text }) => [language, text]);
}
