import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { syncerFinalizer } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { type Explanation, explain, type Observed, remedyOf, timeOf, viewOf } from "@klutch/overview";
import { formatExplanation } from "./print.ts";
import { parseWanted } from "./resolve.ts";
import { cases } from "./testing/cases.ts";
import { above, claimOf, compositeOf, good, managedOf, object, seen, waiting } from "./testing/objects.ts";

const page = new URL("../../../../docs/explain.md", import.meta.url);
const marker = "<!-- The cases are printed by apps/cli/src/explain/explain.test.ts. -->\n";

function printed(): string {
  return cases
    .map(({ title, observed }) => {
      const text = formatExplanation(explain(observed), undefined);
      const lines = text
        .trimEnd()
        .split("\n")
        .map((line) => (line === "" ? "" : `    ${line}`));
      return `\n### ${title}\n\n${lines.join("\n")}\n`;
    })
    .join("");
}

test("each case prints as docs/explain.md shows it", async () => {
  const text = await readFile(page, "utf8");
  const end = text.indexOf(marker) + marker.length;
  assert.ok(end > marker.length, "the marker of the cases is missing");
  if (process.env["KLUTCH_REWRITE_EXPLAIN"] === "1") await writeFile(page, text.slice(0, end) + printed());
  else
    assert.equal(
      text.slice(end),
      printed(),
      "run again with KLUTCH_REWRITE_EXPLAIN=1, and read the difference",
    );
});

const verdictOf = (title: string): string => {
  const found = cases.find((one) => one.title === title);
  assert.ok(found, title);
  const explanation = explain(found.observed);
  const { state, waitsFor } = explanation;
  return `${state} ${waitsFor?.station ?? "-"} ${remedyOf(explanation)?.who ?? "-"}`;
};

for (const [title, verdict] of [
  ["All is well", "well - -"],
  ["It is being created, and others of its kind tell how long that takes", "waiting broker none"],
  ["A parameter is wrong", "failed broker developer"],
  ["No broker serves the type", "failed broker operator"],
  ["The broker is down, seen by a developer", "failed broker broker"],
  ["The broker is down, seen with the control plane", "failed broker broker"],
  ["The quota is used up", "failed sent developer"],
  ["A change of the schema is held", "well - -"],
  ["It is being deleted, and a binding holds it", "waiting broker developer"],
  ["Its deletion is held, because it is one of many", "failed sent operator"],
  ["No Composition fits, seen by a developer", "failed composite operator"],
  ["The selector matches no Composition, seen with the control plane", "failed composite operator"],
  ["The composite is paused", "failed composite operator"],
  ["A function fails", "failed composite operator"],
  ["A provider's kind is missing in the control plane", "failed composite operator"],
  ["A provider's kind is there, and the provider is not", "waiting managed operator"],
  ["Crossplane lacks rights", "failed composite operator"],
  ["A developer without any right but on the claim", "failed composite operator"],
  ["No konnector works, and the claim is new", "failed agent operator"],
  ["No konnector works, and the claim was edited", "failed agent operator"],
  ["The control plane refuses the credential", "failed sent operator"],
  ["The Secret's name is taken", "failed secret developer"],
  ["One of two managed resources failed", "failed broker operator"],
  ["The clock of the control plane is five hours behind", "well - -"],
  ["Only the managed resource's conditions say it", "failed broker operator"],
  ["The provider has not looked at the new spec of the managed resource", "waiting broker operator"],
  ["It is deleted above, and the konnector has not let it go", "waiting back none"],
  ["The control plane has an earlier spec", "waiting sent none"],
  ["A composition of strangers", "waiting composite none"],
  ["A managed resource of another provider is not ready", "waiting broker operator"],
  ["A managed resource of another provider never says that it is ready", "waiting broker operator"],
  ["Another provider fails", "failed broker operator"],
  ["An operator of strangers has not finished", "waiting foreign none"],
  ["A controller of AWS wants another spec", "failed foreign developer"],
  ["An operator without Ready does not know yet", "waiting foreign none"],
  ["A policy of the control plane refuses it", "failed sent developer"],
] as const)
  test(`${title}: ${verdict}`, () => assert.equal(verdictOf(title), verdict));

test("a Composition that the claim itself chooses is the developer's to correct", () => {
  const found = cases.find(({ title }) => title === "No Composition fits, seen by a developer");
  assert.ok(found);
  const explanation = explain({ ...found.observed, choosesComposition: true });
  assert.deepEqual(remedyOf(explanation), {
    who: "developer",
    next: "kubectl edit postgresqlinstances.anynines.com db -n shop",
  });
});

test("a status that lies is bounded, cleaned and never taken for more than words", () => {
  const nasty = `\u001b[31mowned\u202e\n<script>alert(1)</script>${"x".repeat(1_000_000)}`;
  const condition = {
    type: "Ready",
    status: "False",
    reason: nasty,
    message: nasty,
    lastTransitionTime: nasty,
  };
  const claim: DynamicObject = {
    apiVersion: "anynines.com/v1",
    kind: "PostgresqlInstance",
    metadata: { name: "db", namespace: "shop", generation: 1, creationTimestamp: "2026-11-28T09:00:00Z" },
    status: {
      conditions: [
        ...Array.from({ length: 5_000 }, (_, index) => ({ ...condition, type: `T${index}` })),
        condition,
      ],
      managed: {
        state: nasty,
        createdAt: nasty,
        provisionedAt: "0000-99-99T99:99:99Z",
        credentials: { name: "../../etc/passwd", keys: nasty },
        conditions: [condition, 7, null],
      },
    },
  };
  const view = viewOf(claim);
  assert.equal(view.managed?.secret, undefined);
  assert.equal(view.managed?.provisionedAt, undefined);
  const [base] = cases;
  assert.ok(base);
  for (const format of [undefined, "json", "yaml"] as const) {
    const text = formatExplanation(explain({ ...base.observed, claim: view }), format);
    assert.ok(text.length < 20_000, `${text.length}`);
    for (const character of ["\u001b", "\u202e"]) assert.ok(!text.includes(character), "control characters");
  }
  assert.equal(explain({ ...base.observed, claim: view }).state, "waiting");
});

const foreignTitle = "An operator of strangers has not finished";

/** The explanation of a Certificate with other conditions, or other facts. */
function foreign(conditions: readonly object[], more: Partial<Observed> = {}): Explanation {
  const found = cases.find(({ title }) => title === foreignTitle);
  assert.ok(found);
  const metadata = { name: "shop", namespace: "default", generation: 1, finalizers: [syncerFinalizer] };
  const object = { apiVersion: "cert-manager.io/v1", kind: "Certificate", metadata, status: { conditions } };
  return explain({ ...found.observed, claim: viewOf(object), ...more });
}

const said = (type: string, status: string, reason: string): object => ({
  type,
  status,
  reason,
  message: "",
});
const stationsOf = ({ steps }: Explanation): string => steps.map(({ station }) => station).join(" ");
const ofStrangers = "edited agent sent foreign back secret";

test("an operator of strangers that is ready, stalled, or without a condition Ready is judged by its own words", () => {
  for (const [conditions, verdict] of [
    [[said("Ready", "True", "Ready"), said("Issuing", "False", "Failed")], "well - "],
    [[said("Ready", "False", "Failed"), said("Issuing", "True", "X")], "waiting foreign Ready: Failed"],
    [[said("Ready", "False", "DoesNotExist")], "waiting foreign Ready: DoesNotExist"],
    [
      [said("Ready", "Unknown", "SpecNotObserved"), said("Issuing", "True", "X")],
      "waiting foreign Ready: SpecNotObserved",
    ],
    [
      [said("Ready", "False", "X"), said("Stalled", "True", "GaveUp")],
      "failed foreign Stalled: GaveUp; Ready: X",
    ],
    [[said("Accepted", "False", "NoClass")], "waiting foreign Accepted: NoClass"],
    [[said("Accepted", "True", "Fine")], "well - "],
  ] as const) {
    const explanation = foreign(conditions);
    assert.equal(stationsOf(explanation), ofStrangers);
    assert.equal(
      `${explanation.state} ${explanation.waitsFor?.station ?? "-"} ${explanation.cause}`,
      verdict,
    );
  }
});

test("what an operator of strangers says of a deletion that does not end is its cause", () => {
  const deleting = (conditions: readonly object[]): string => {
    const metadata = { name: "shop", namespace: "default", deletionTimestamp: "2026-11-28T11:00:00Z" };
    const object = { apiVersion: "cert-manager.io/v1", kind: "Certificate", metadata };
    const { cause, waitsFor } = foreign([], { claim: viewOf({ ...object, status: { conditions } }) });
    return `${waitsFor?.station} ${cause}`;
  };
  const was = said("ACK.ResourceSynced", "True", "");
  assert.equal(
    deleting([was, said("Ready", "True", "ResourceSynced"), said("ACK.Recoverable", "True", "NotEmpty")]),
    "foreign the control plane is deleting it; ACK.Recoverable: NotEmpty",
  );
  assert.equal(
    deleting([said("Ready", "False", "StillUsed"), said("Issuing", "True", "X")]),
    "foreign the control plane is deleting it; Ready: StillUsed",
  );
  assert.equal(
    deleting([said("Ready", "True", "Ready"), said("Issuing", "True", "X")]),
    "foreign the control plane is deleting it",
  );
});

test("what only the konnector or Crossplane has spoken of is no operator's of strangers", () => {
  for (const conditions of [
    [said("Ready", "Unknown", "SpecNotObserved")],
    [said("Ready", "False", "Refused")],
    [said("Ready", "False", "Waiting")],
    [said("Ready", "False", "X"), said("Synced", "True", "ReconcileSuccess")],
    [],
  ])
    assert.notEqual(stationsOf(foreign(conditions)), ofStrangers);
  // The control plane's definition decides, where it was read.
  const above = { upstream: "forbidden", holdsSpec: undefined, composite: undefined, resources: [] } as const;
  assert.equal(stationsOf(foreign([], { above: { ...above, isComposed: false } })), ofStrangers);
});

test("a status of an operator that lies is bounded, whatever it says", () => {
  const nasty = `\u001b[31m${"x".repeat(1_000_000)}`;
  const conditions = Array.from({ length: 5_000 }, (_, index) => ({
    type: `T${index}`,
    status: "False",
    reason: nasty,
    message: nasty,
  }));
  const text = formatExplanation(foreign(conditions), "json");
  assert.ok(text.length < 20_000, `${text.length}`);
  assert.ok(!text.includes("\u001b"));
});

test("times are RFC 3339 or none; that of a default is none", () => {
  assert.equal(timeOf("2026-11-28T09:00:00.123Z"), "2026-11-28T09:00:00Z");
  assert.equal(timeOf("2026-11-28T10:00:00+01:00"), "2026-11-28T09:00:00Z");
  for (const value of ["1970-01-01T00:00:00Z", "yesterday", 7, undefined, "2026-13-40T09:00:00Z"])
    assert.equal(timeOf(value), undefined, String(value));
});

test("no time of one cluster is compared with one of the other, whatever the clocks say", () => {
  for (const { title, observed } of cases) {
    const shifted = JSON.parse(
      JSON.stringify(observed, (key, value: unknown) =>
        value !== undefined && ["createdAt", "at"].includes(key) ? "2031-01-01T00:00:00Z" : value,
      ),
    ) as typeof observed;
    assert.equal(explain(shifted).waitsFor?.station, explain(observed).waitsFor?.station, title);
  }
});

test("a claim is named as kubectl names it; another text says how", () => {
  assert.deepEqual(parseWanted(["pg/db"]), { kind: "pg", name: "db" });
  assert.deepEqual(parseWanted(["postgresqlinstances.anynines.com", "db"]), {
    kind: "postgresqlinstances.anynines.com",
    name: "db",
  });
  for (const words of [["db"], ["a/b/c"], ["pg/../x"], ["pg", "db", "more"], ["pg/DB"], [""]])
    assert.throws(() => parseWanted(words), /names no claim; write <kind>\/<name>/, words.join(" "));
});

test("a Secret that the claim orders from Crossplane is missed once the claim is ready, and not before", () => {
  const order = { writeConnectionSecretToRef: { name: "db-connection" } };
  const stateOf = (rows: typeof good, secret: "present" | "missing"): string => {
    const { state, steps } = explain(seen(claimOf(rows, {}, {}, order), { secret }));
    const { state: ofSecret, object = "" } = steps.at(-1) ?? {};
    return `${state} ${ofSecret} ${object}`;
  };
  assert.equal(stateOf(good, "present"), "well done Secret/db-connection");
  assert.equal(stateOf(good, "missing"), "waiting waiting Secret/db-connection");
  assert.equal(stateOf(waiting, "missing"), "waiting pending ");
  const wicked = { writeConnectionSecretToRef: { name: "../etc\u001b[2J" } };
  assert.doesNotMatch(JSON.stringify(explain(seen(claimOf(good, {}, {}, wicked)))), /etc/);
});

test("a composed object without conditions is done once its composite is ready, and waited for before", () => {
  const plain = viewOf(object("v1", "ConfigMap", "db-settings", []));
  const composed = { ...managedOf([]), ref: "ConfigMap/db-settings", object: { found: plain } };
  const stateOf = (ready: string): string =>
    explain(
      seen(claimOf(good), {
        above: above(
          compositeOf([
            ["Synced", "True", ""],
            ["Ready", ready, ""],
          ]),
          [composed],
        ),
      }),
    ).state;
  assert.equal(stateOf("True"), "well");
  assert.equal(stateOf("False"), "waiting");
});
