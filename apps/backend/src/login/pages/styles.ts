/** The one style sheet, served by the backend itself. Colours have a contrast of at least 4.5:1 in both schemes. */
export const styleSheet = `
:root { color-scheme: light dark; --ink: #1c2330; --soft: #4b5568; --paper: #f5f6f9; --card: #ffffff; --line: #d5dae3; --edge: #767f90; --accent: #0b57a4; --on-accent: #ffffff; --warn: #8a3b00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ecf4; --soft: #aab4c6; --paper: #12161e; --card: #1b212c; --line: #333c4c; --edge: #7f8aa0; --accent: #7db8f5; --on-accent: #0d1520; --warn: #ffb37a; } }
html { scroll-padding-bottom: 6rem; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }
header, main, footer { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1.25rem; }
header { padding-bottom: 0; display: flex; align-items: center; gap: .7rem; font-weight: 650; }
header .mark { width: 1.6rem; height: 1.6rem; border-radius: .45rem; background: var(--accent); color: var(--on-accent); display: grid; place-items: center; font-size: .95rem; }
main { overflow-wrap: anywhere; }
h1 { font-size: 1.65rem; line-height: 1.25; margin: .25rem 0 .5rem; }
h2.group { font-size: 1.2rem; margin: 1.9rem 0 0; }
h3 { font-size: 1.15rem; margin: 0; overflow-wrap: anywhere; }
pre { margin: 0; padding: .8rem 1rem; border-radius: .55rem; background: var(--paper); white-space: pre-wrap; overflow-wrap: anywhere; }
p { margin: .4rem 0; }
.who { overflow-wrap: anywhere; }
.soft { color: var(--soft); }
ul.apis { list-style: none; margin: 1rem 0 0; padding: 0; display: grid; gap: 1rem; }
.card { min-width: 0; background: var(--card); border: 1px solid var(--line); border-radius: .8rem; padding: 1.15rem 1.25rem; display: grid; gap: .5rem; }
div.card { margin-top: 1rem; }
.card > * { min-width: 0; }
.card p { margin: 0; }
.card summary { cursor: pointer; color: var(--accent); }
dl { margin: .6rem 0 0; }
dt { margin-top: .5rem; }
dd { margin: .1rem 0 0; color: var(--soft); overflow-wrap: anywhere; }
.card code, p code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
.facts { margin: 0; padding-left: 1.1rem; color: var(--soft); }
.facts li { margin: .15rem 0; overflow-wrap: anywhere; }
button { justify-self: start; margin-top: .45rem; font: inherit; font-weight: 600; border: 0; border-radius: .55rem; padding: .6rem 1.1rem; background: var(--accent); color: var(--on-accent); cursor: pointer; }
button:hover { filter: brightness(1.08); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
.problem { border-left: .35rem solid var(--warn); }
button.plain { margin: 0; background: var(--card); color: var(--accent); border: 1px solid var(--accent); }
.search { display: flex; flex-wrap: wrap; align-items: center; gap: .6rem; margin: 1.2rem 0 0; }
.search label { font-weight: 600; }
.search input { flex: 1 1 9rem; min-width: 0; font: inherit; color: var(--ink); background: var(--card); border: 1px solid var(--edge); border-radius: .55rem; padding: .5rem .7rem; }
.search a { color: var(--accent); flex-basis: 100%; }
fieldset { border: 0; margin: 1.9rem 0 0; padding: 0; min-width: 0; }
legend { padding: 0; }
legend h2 { font-size: 1.2rem; margin: 0; }
.tick { display: flex; gap: .7rem; align-items: flex-start; }
.tick label { flex: 1; min-width: 0; overflow-wrap: anywhere; cursor: pointer; }
.tick input { flex: none; width: 1.25rem; height: 1.25rem; margin: .15rem 0 0; accent-color: var(--accent); }
.whole { margin: .7rem 0 0; font-weight: 600; }
.whole .soft { font-weight: 400; }
.actions { position: sticky; bottom: 0; display: flex; flex-wrap: wrap; align-items: center; gap: .4rem 1rem; margin-top: 1.4rem; padding: .8rem 0; background: var(--paper); border-top: 1px solid var(--line); }
.actions button { margin: 0; }
footer { color: var(--soft); font-size: .9rem; }
`;
