/** The environment that child programs inherit. */
export const inheritedEnvironment: NodeJS.ProcessEnv = process.env;
