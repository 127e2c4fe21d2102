/** The one style sheet. Colours have a contrast of at least 4.5:1 in both schemes; nothing is wider than a phone but code and tables, which scroll. */
export const styleSheet = `
:root { color-scheme: light dark; --ink: #1c2330; --soft: #4b5568; --paper: #ffffff; --side: #f5f6f9; --line: #d5dae3; --accent: #0b57a4; --code: #eef1f6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e8f1; --soft: #aab4c6; --paper: #12161e; --side: #181d27; --line: #333c4c; --accent: #7db8f5; --code: #1d2430; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 4rem; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.6 system-ui, sans-serif; }
a { color: var(--accent); text-underline-offset: .15em; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: .7rem; z-index: 2; background: var(--paper); padding: .3rem .6rem; }
header { position: sticky; top: 0; z-index: 1; display: flex; align-items: baseline; gap: .6rem; padding: .7rem 1.25rem; background: var(--side); border-bottom: 1px solid var(--line); }
.home { color: var(--ink); font-size: 1.1rem; font-weight: 700; text-decoration: none; }
.version { color: var(--soft); font-size: .85rem; }
.frame { display: grid; grid-template-columns: 16rem minmax(0, 1fr); max-width: 88rem; margin: 0 auto; }
nav { position: sticky; top: 3rem; align-self: start; height: calc(100vh - 3rem); overflow-y: auto; padding: 1rem .5rem 2rem 1.25rem; border-right: 1px solid var(--line); font-size: .92rem; }
.switch { position: absolute; opacity: 0; pointer-events: none; }
.switch, .switch + label { display: none; }
summary { cursor: pointer; font-weight: 650; padding: .2rem 0; }
nav ul, aside ul { list-style: none; margin: 0 0 .7rem; padding: 0; }
nav li a { display: block; padding: .2rem .6rem; border-radius: .4rem; color: var(--soft); text-decoration: none; }
nav li a:hover { color: var(--accent); text-decoration: underline; }
nav [aria-current] { background: var(--code); color: var(--ink); font-weight: 600; }
main { min-width: 0; padding: 1.2rem 2.5rem 4rem; display: grid; grid-template-columns: minmax(0, 1fr) 14rem; gap: 2.5rem; }
article { max-width: 60rem; }
article:only-child { grid-column: 1 / -1; }
aside { order: 1; align-self: start; position: sticky; top: 4rem; max-height: calc(100vh - 5rem); overflow-y: auto; margin-top: 1rem; padding: 0 0 .2rem 1rem; border-left: 2px solid var(--line); font-size: .88rem; }
aside p { margin: 0 0 .3rem; font-weight: 650; }
aside li { margin: .25rem 0; line-height: 1.4; }
aside a { color: var(--soft); text-decoration: none; }
h1 { font-size: 1.9rem; line-height: 1.25; margin: .6rem 0 1rem; }
h2 { font-size: 1.35rem; line-height: 1.3; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1.1rem; margin: 1.6rem 0 .4rem; }
h1 a, h2 a, h3 a, h4 a { color: inherit; text-decoration: none; }
h2 > a:hover::after, h3 > a:hover::after { content: " #"; color: var(--soft); }
p, li { overflow-wrap: break-word; }
article li { margin: .25rem 0; }
code { font: .88em/1.5 ui-monospace, SFMono-Regular, Menlo, monospace; background: var(--code); padding: .1em .3em; border-radius: .25rem; overflow-wrap: anywhere; }
pre { overflow-x: auto; background: var(--code); border-radius: .5rem; padding: .8rem 1rem; line-height: 1.5; }
pre code { background: none; padding: 0; font-size: .85rem; overflow-wrap: normal; }
.table { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; line-height: 1.5; }
th, td { text-align: left; vertical-align: top; padding: .45rem .7rem; border-bottom: 1px solid var(--line); min-width: 6rem; }
th { color: var(--soft); font-weight: 600; }
td code { overflow-wrap: break-word; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
@media (max-width: 75rem) {
  main { display: block; }
  aside { position: static; max-height: none; margin: 0 0 1rem; padding: 0; border: 0; }
  aside p { display: none; }
  .switch { display: inline; }
  .switch + label { display: inline-block; cursor: pointer; border: 1px solid var(--line); border-radius: .4rem; padding: .3rem .8rem; font-weight: 600; }
  .switch:focus-visible + label { outline: 3px solid var(--accent); }
  aside .switch:not(:checked) ~ ul { display: none; }
  aside ul { margin: .5rem 0; }
  nav .switch, nav .switch + label { display: none; }
}
@media (max-width: 52rem) {
  .frame { grid-template-columns: minmax(0, 1fr); }
  nav { position: static; height: auto; border: 0; padding: .6rem 1.1rem; }
  nav .switch { display: inline; }
  nav .switch + label { display: inline-block; }
  nav .switch:not(:checked) ~ .groups { display: none; }
  nav .groups { padding-top: .6rem; }
  nav li a, aside li a { display: inline-block; padding: .35rem .6rem; }
  main { padding: .2rem 1.1rem 3rem; }
  h1 { font-size: 1.55rem; }
  table, tbody, tr, td { display: block; }
  thead { display: none; }
  tr { padding: .6rem 0; border-bottom: 1px solid var(--line); }
  td { min-width: 0; padding: .1rem 0; border: 0; }
  td:empty { display: none; }
  td:not(:first-child) { padding-left: 1rem; }
  td:not(:first-child)::before { content: attr(data-label) ": "; color: var(--soft); font-size: .85em; }
  td[data-label=""]::before { content: none !important; }
}
@media print { header, nav, aside, .skip { display: none; } .frame { display: block; } }
`;
