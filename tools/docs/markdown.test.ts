import assert from "node:assert/strict";
import { test } from "node:test";
import { openTree } from "../checks/tree.ts";
import { folderPage, filePage } from "./file-pages.ts";
import { groupsOf, isPage } from "./places.ts";
import { renderPages, brokenLinks, type SiteSource } from "./site.ts";

const sourceOf = (pages: Readonly<Record<string, string>>): SiteSource => ({
  paths: new Set(Object.keys(pages)),
  text: (path) => pages[path] ?? "",
});
/** Renders each text as a page of its own. */
async function htmlOf(texts: readonly string[]): Promise<readonly string[]> {
  const pages = texts.map((text, index) => [`docs/a${index}.md`, text] as const);
  const { html } = await renderPages(sourceOf({ ...Object.fromEntries(pages), "docs/a.md": "# A\n" }));
  return pages.map(([path]) => html.get(path) ?? "");
}

test("raw HTML is shown as text, whatever it is, and a comment is not shown", async () => {
  const pages = await htmlOf([
    "<script>alert(1)</script>",
    "text <img src=x onerror=alert(1)> text",
    "<svg/onload=alert(1)>",
    "<style>*{display:none}</style>",
    "<a href='javascript:alert(1)'>press</a>",
    "![x](https://spy.test/pixel.png)",
    "| <iframe src=x> |\n|---|\n| <b onclick=x> |",
    "# <script>alert(1)</script>",
    '```"><script>\ncode\n```',
    "`<script>`",
    "[x][1]\n\n[1]: <https://a.test/\"onclick=x> 'title\" onclick=x'",
    "text {onclick=x}",
    "<Content />",
    "<<< /etc/passwd",
  ]);
  for (const html of pages) {
    const tags = html.match(/<\/?([a-z0-9]+)/gi) ?? [];
    const harmless = /^<\/?(?:p|pre|code|h1|a|div|table|thead|tbody|tr|th|td|span)$/;
    // The button of a block of code copies it.
    const own = html.includes('<button title="Copy Code" class="copy"></button>')
      ? ["<button", "</button"]
      : [];
    assert.deepEqual(
      tags.filter((tag) => !harmless.test(tag) && !own.includes(tag)),
      [],
      html,
    );
    assert.doesNotMatch(html, /<[^>"]*(?:"[^"]*"[^>"]*)*\son\w+=/, html);
    assert.doesNotMatch(html, /root:/);
  }
  assert.deepEqual(await htmlOf(["<!-- Generated -->\n\n<!-- two\nlines -->\n"]), [""]);
});

test("an expression of a template is shown as text, everywhere on a page", async () => {
  const texts = [
    "{{ alert(1) }}",
    "# {{ alert(1) }}",
    "[{{ alert(1) }}](a.md)",
    "![{{ alert(1) }}](a.md)",
    "| {{ alert(1) }} |\n|---|",
    "text\\{\\{ alert(1) }}",
  ];
  for (const html of await htmlOf(texts)) assert.doesNotMatch(html.replaceAll(/"[^"]*"/g, ""), /\{\{/);
  const codes = [
    "`{{ alert(1) }}`",
    "```yaml\n{{ alert(1) }}\n```",
    "```\n{{ alert(1) }}\n```",
    "    {{ alert(1) }}",
  ];
  for (const html of await htmlOf(codes))
    assert.match(html, /<(?:pre|code)[^>]* v-pre[^>]*>(?:<[^>]*>)*\{\{ *(?:<[^>]*>| )*alert/);
});

test("a link that is no address of the web and no page is text, and is told", async () => {
  const links = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java&#x73;cript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "//spy.test/x",
    "file:///etc/passwd",
    "../../etc/passwd",
    "gone.md",
    "b.md#gone",
  ];
  const text = links.map((link) => `[press](${link})`).join("\n\n");
  const source = sourceOf({ "docs/a.md": `# A\n\n${text}\n`, "docs/b.md": "# B\n" });
  const problems = await brokenLinks(source);
  assert.equal(problems.length, links.length, problems.join("\n"));
  const { html } = await renderPages(source);
  assert.doesNotMatch(html.get("docs/a.md") ?? "", /<a [^>]*(?:script|data|file):/i);
});

test("pages lead to each other, to headings, and to files that are no pages; each heading has its own anchor", async () => {
  const source = sourceOf({
    "docs/README.md":
      "# Home\n[deep](sub/deep.md#two-words-1) [file](../configuration/a.yaml) [folder](../configuration)\n",
    "docs/sub/deep.md": "# Deep\n## Two `words`\n## Two words\n[home](../README.md) [own](#two-words)\n",
    "configuration/a.yaml": "a: <1>\n",
  });
  assert.deepEqual(await brokenLinks(source), []);
  const { html, links } = await renderPages(source);
  assert.match(html.get("docs/README.md") ?? "", /href="\/sub\/deep\.html#two-words-1"/);
  assert.match(
    html.get("docs/README.md") ?? "",
    /href="\/files\/configuration\/a\.yaml\.html" target="_self"/,
  );
  assert.match(html.get("docs/sub/deep.md") ?? "", /<h2 id="two-words-1"/);
  assert.match(html.get("docs/sub/deep.md") ?? "", /href="\/index\.html">home/);
  assert.deepEqual([...links.linked].toSorted(), ["configuration/", "configuration/a.yaml"]);
  assert.match(filePage("configuration/a.yaml", source.text("configuration/a.yaml")), /a: &#60;1&#62;/);
  assert.match(folderPage("configuration/", [...source.paths]), /href="a\.yaml\.html"/);
});

test("every page but the first one is in one group of the navigation", () => {
  const { paths } = openTree();
  const pages = [...paths].filter((path) => isPage(path) && path !== "docs/README.md");
  const grouped = groupsOf(pages).flatMap((group) => group.pages);
  assert.deepEqual(grouped.toSorted(), pages.toSorted());
});
