/** The name by which operators know a person who logged in: what the identity provider says of them in a verified ID token. */
import { displayName } from "@klutch/api";
import type { JWTPayload } from "jose";

/**
 * Returns the e-mail address, else the user name, else the name (OpenID Connect Core 1.0 §5.1), fit for a table. An address that the
 * provider calls not verified may be another person's, so it comes last and says so. Undefined if the token has none of them.
 */
export function personNameOf(claims: JWTPayload): string | undefined {
  const [email, userName, name] = ["email", "preferred_username", "name"].map((claim) =>
    displayName(claims[claim]),
  );
  const isUnverified = [false, "false"].some((value) => claims["email_verified"] === value);
  const doubtful = email === undefined ? undefined : displayName(`${email} (not verified)`);
  return (isUnverified ? undefined : email) ?? userName ?? name ?? doubtful;
}
