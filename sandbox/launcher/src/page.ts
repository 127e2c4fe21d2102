/** Reads the commands in the pages of docs/, which are run word for word. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { repository } from "./machine.ts";

/** A block of code in a page. */
export interface PageBlock {
  /** The heading that it stands under, without its marks. */
  readonly heading: string;
  /** Language after the opening fence. */
  readonly language: string;
  readonly text: string;
}

/** Returns the fenced code of a page, named by its path from the root of the repository, in the order of the text. Indented code is only shown. */
export async function blocksIn(page: string): Promise<readonly PageBlock[]> {
  const text = await readFile(join(repository, page), "utf8");
  const blocks: PageBlock[] = [];
  let heading = "";
  for (const [, title, language = "", code = ""] of text.matchAll(/^#+ (.*)$|^```(\w+)\n([^]*?)^```$/gm)) {
    if (title === undefined) blocks.push({ heading, language, text: code });
    else heading = title;
  }
  return blocks;
}
