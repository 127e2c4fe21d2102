import { everyFault } from "../../testing/fault-plans.ts";
import { testRotations } from "../../testing/rotation-lives.ts";

await testRotations(everyFault, 50);
