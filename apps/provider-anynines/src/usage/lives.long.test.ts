import { testLives } from "../testing/usage-lives.ts";

testLives(1_000, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
