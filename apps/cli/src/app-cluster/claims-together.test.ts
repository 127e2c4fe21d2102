import assert from "node:assert/strict";
import { test } from "node:test";
import type { PermissionClaim } from "@klutch/api";
import type { ClaimAnswer } from "../options.ts";
import { scriptedRun, type ScriptedRun } from "../testing/script.ts";
import { answerTogether } from "./claims-together.ts";

const secrets: PermissionClaim = {
  group: "",
  resource: "secrets",
  version: "v1",
  required: true,
  selector: { owner: "Provider" },
};
const configs: PermissionClaim = {
  group: "",
  resource: "configmaps",
  version: "v1",
  selector: { owner: "Consumer" },
};
/** A claim on the person's own Secrets gets a warning. */
const own: PermissionClaim = {
  group: "",
  resource: "secrets",
  version: "v1",
  selector: { owner: "Consumer" },
};
/** No one may accept it. */
const never: PermissionClaim = { group: "apps", resource: "deployments", version: "v1" };

async function answer(
  claims: readonly (readonly PermissionClaim[])[],
  how: ClaimAnswer,
  answers: readonly string[] = [],
): Promise<{ readonly run: ScriptedRun; readonly states: string; readonly error: unknown }> {
  const run = scriptedRun({ answers });
  const apis = claims.map((list, index) => ({
    api: { name: `api${index}.x.test`, group: "x.test" },
    claims: list,
    rightsOf: () => ["get secrets"],
  }));
  try {
    const answered = await answerTogether(run.context, apis, how);
    const states = answered
      .map((list) => list.map(({ resource, state }) => `${resource} ${state}`).join(", "))
      .join(" | ");
    return { run, states, error: undefined };
  } catch (error) {
    return { run, states: "", error };
  }
}

test("the permissions of all APIs stand in one list, and one yes accepts them", async () => {
  const { run, states } = await answer([[], [secrets], [configs]], "ask", ["yes"]);
  assert.equal(states, " | secrets Accepted | configmaps Accepted");
  const text = run.stderr();
  assert.match(
    text,
    /^The APIs ask for 2 permissions:\nFor api1\.x\.test:\n.*secrets[^]*For api2\.x\.test:\n.*configmaps[^]*Do you accept these 2 Permissions\? \[No,Yes\]\n$/,
  );
  assert.equal(text.match(/\[No,Yes\]/g)?.length, 1);
});

test("a no to all of them leads to a question for each, and a required one that is rejected ends it", async () => {
  const { run, states } = await answer([[secrets], [configs]], "ask", ["no", "yes", "no"]);
  assert.equal(states, "secrets Accepted | configmaps Rejected");
  assert.match(run.stderr(), /api0\.x\.test asks for secrets, which is required\.\n/);
  const { error } = await answer([[secrets], [configs]], "ask", ["no", "no"]);
  assert.match(String(error), /api0\.x\.test cannot be bound without the required permission for secrets/);
});

test("a claim with a warning has its own question, which neither the yes to all nor a flag answers", async () => {
  const { run, states } = await answer([[configs], [own]], "ask", ["yes", "no"]);
  assert.equal(states, "configmaps Accepted | secrets Rejected");
  assert.match(run.stderr(), /Warning: [^]*api1\.x\.test asks for secrets, with the warning above\.\n/);
  const flagged = await answer([[configs], [own]], "accept");
  assert.equal(flagged.states, "configmaps Accepted | secrets Rejected");
  assert.match(flagged.run.stderr(), /--accept-permissions does not cover this claim/);
  assert.equal(
    (await answer([[configs], [own]], "accept", ["yes"])).states,
    "configmaps Accepted | secrets Accepted",
  );
  assert.equal(
    (await answer([[configs], [own]], "reject", ["yes"])).states,
    "configmaps Rejected | secrets Rejected",
  );
});

test("a claim that no one may accept is left out, and ends it where it is required", async () => {
  const { run, states } = await answer([[never, configs], []], "ask", ["yes"]);
  assert.equal(states, "configmaps Accepted | ");
  assert.match(run.stderr(), /Refused: /);
  assert.match(
    String((await answer([[{ ...never, required: true }], []], "accept")).error),
    /required permission for deployments/,
  );
});

test("APIs without permissions are bound without a question", async () => {
  const { run, states } = await answer([[], []], "ask");
  assert.equal(states, " | ");
  assert.match(run.stderr(), /ask for no permission on other objects/);
});
