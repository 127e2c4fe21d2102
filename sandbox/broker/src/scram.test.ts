import assert from "node:assert/strict";
import { test } from "node:test";
import { scramVerifier } from "./scram.ts";

test("the verifier is the one of the specification's example", () => {
  // RFC 7677, section 3: password `pencil`, this salt, 4096 rounds; the keys follow from its messages.
  const salt = Buffer.from("W22ZaJ0SNY7soEsUEjb6gQ==", "base64");
  assert.equal(
    scramVerifier("pencil", salt),
    "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
  );
});

test("neither password nor key can be read from it, and another salt gives another one", () => {
  const one = scramVerifier("correct horse", Buffer.alloc(16, 1));
  assert.doesNotMatch(one, /correct|horse/);
  assert.notEqual(one, scramVerifier("correct horse", Buffer.alloc(16, 2)));
  assert.equal(one, scramVerifier("correct horse", Buffer.alloc(16, 1)));
});
