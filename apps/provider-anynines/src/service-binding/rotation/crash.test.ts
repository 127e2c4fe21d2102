import { inTurn } from "../../testing/fault-plans.ts";
import { testRotations } from "../../testing/rotation-lives.ts";

await testRotations(inTurn, 5);
