import assert from "node:assert/strict";
import { test } from "node:test";
import type { LoginWish } from "@klutch/api";
import { ask } from "../app-cluster/permission-claims.ts";
import type { ClaimAnswer } from "../options.ts";
import { scriptedRun, type ScriptedRun } from "../testing/script.ts";
import { checkRequests, comparedTo, confirmApis, requireAll } from "./requested.ts";

const [a, b, c] = ["as.x.test", "bs.x.test", "cs.y.test"] as const;
const wishFor = (...names: string[]): LoginWish => ({ kind: "apis", names });

/** Confirms with these answers; gives back what was printed. */
async function confirm(
  names: readonly string[],
  options: { readonly wish?: LoginWish; readonly answer?: ClaimAnswer; readonly answers?: readonly string[] },
): Promise<{ readonly run: ScriptedRun; readonly error: unknown }> {
  const run = scriptedRun({ answers: options.answers ?? [] });
  const { wish, answer = "ask" } = options;
  const error: unknown = await confirmApis(run.context, names, { at: "Example", wish }, answer, ask).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { run, error };
}

test("one API is asked about by its name, several in one question", async () => {
  const one = await confirm([a], { answers: ["yes"] });
  assert.equal(one.error, undefined);
  assert.match(
    one.run.stderr(),
    /Example says that you chose as\.x\.test\.\n.*installs its kind.*\nDo you want to bind as\.x\.test\? /,
  );
  const two = await confirm([a, b], { wish: wishFor("as", b), answers: ["yes"] });
  assert.equal(two.error, undefined);
  assert.match(
    two.run.stderr(),
    /chose these 2 APIs:\n {2}as\.x\.test\n {2}bs\.x\.test\n.*their kinds.*\nDo you want to bind these 2 APIs\? /,
  );
  assert.equal(two.run.stderr().match(/\[No,Yes\]/g)?.length, 1);
  const no = await confirm([a, b], { answers: ["no"] });
  assert.match(String(no.error), /as\.x\.test, bs\.x\.test were not accepted\. Nothing was changed/);
});

test("a provider that answers with an API beside those of the command line is found out, and no flag accepts it", async () => {
  for (const answer of ["accept", "reject", "ask"] as const) {
    const lie = await confirm([a, c], {
      wish: wishFor(a),
      answer,
      answers: answer === "ask" ? ["yes", "no"] : [],
    });
    assert.match(
      String(lie.error),
      /Example answered with cs\.y\.test, which --api does not name.*Nothing was changed/,
      answer,
    );
  }
  const accepted = await confirm([a, c], { wish: wishFor(a), answer: "accept", answers: ["yes"] });
  assert.equal(accepted.error, undefined);
  const other = await confirm([c], { wish: wishFor(a), answer: "accept" });
  assert.match(String(other.error), /cs\.y\.test/);
  // The group is part of a full name.
  assert.deepEqual(comparedTo(wishFor(a), ["as.evil.test"]), { missing: [a], unasked: ["as.evil.test"] });
});

test("the APIs of a service are known to the provider only: the person sees each name", async () => {
  for (const wish of [{ kind: "service", service: "x" }, { kind: "all" }, { kind: "none" }] as const) {
    assert.deepEqual(comparedTo(wish, [a]), { missing: [], unasked: [] });
    const { error } = await confirm([a, b], { wish, answer: "accept" });
    assert.equal(error, undefined);
  }
});

test("an answer with fewer APIs than asked for ends with the missing ones, the cause, and the next command", () => {
  const at = { url: "https://klutch.example.com/export", who: "Example", severalApis: false };
  requireAll(wishFor("as", b), [b, a], at);
  assert.throws(() => requireAll(wishFor("as", b, c), [b], at), {
    code: "Incomplete",
    message:
      "Bound: bs.x.test. Not bound: as, cs.y.test, because the backend of Example is of an earlier release and binds one API of a login. " +
      "Go on with kubectl bind https://klutch.example.com/export --api as,cs.y.test",
  });
  assert.throws(
    () => requireAll(wishFor(a, b), [b], { ...at, severalApis: true }),
    /not selected on the page/,
  );
});

test("an answer with more than 50 APIs, or with one twice, is refused", () => {
  const requestsFor = (names: readonly string[]): Parameters<typeof checkRequests>[0] =>
    names.map((resource) => ({
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "APIServiceExportRequest",
      metadata: { name: "" },
      spec: { resources: [{ group: "x.test", resource }] },
      status: {},
    }));
  const many = Array.from({ length: 10_000 }, (_, at) => `a${at}`);
  checkRequests(requestsFor(many.slice(0, 50)), "The answer");
  assert.throws(
    () => checkRequests(requestsFor(many), "The answer"),
    /names more than 50 APIs\. Nothing was changed/,
  );
  assert.throws(() => checkRequests(requestsFor(["a", "a"]), "The answer"), /names a\.x\.test twice/);
});
