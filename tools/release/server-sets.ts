/** Chooses the files of Debian's packages for each database server, without unused ones: manuals, translations, compilers, init scripts. */

/** A layer with one kind of server. */
export interface ServerSet {
  readonly name: ServerName;
  /** Patterns of the files to take, by package. */
  readonly files: Readonly<Record<string, RegExp>>;
  /** Packages with the libraries that those files are linked to; only those needed are taken. */
  readonly libraries: readonly string[];
}

/** Names of all of them. */
export type ServerName = "postgresql" | "mariadb" | "redis";

const sharedLibraries = names("libssl3 zlib1g libzstd1 liblz4-1 liblzma5 libtinfo6");
/** Each of the servers tells systemd when it is ready, if there is one. */
const systemdLibraries = names("libsystemd0 libgcrypt20 libgpg-error0 libcap2");

/** Libraries that libldap brings, to which PostgreSQL is linked. */
const ldapLibraries = names(
  "libldap-2.5-0 libsasl2-2 libgnutls30 libp11-kit0 libffi8 libidn2-0 libunistring2 libtasn1-6",
  "libnettle8 libhogweed6 libgmp10",
);

const kerberosLibraries = names(
  "libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 libcom-err2 libkeyutils1",
);

/**
 * Layers from the lowest. The first has a shell: `initdb` starts the server by `popen`, which runs `/bin/sh`, and our own programs start
 * servers through a few lines of it, which set their limits and end them with us.
 */
export const serverSets: readonly ServerSet[] = [
  {
    name: "postgresql",
    files: {
      dash: /^bin\/(?:dash|sh)$/,
      // Leaves out the compiler of queries, which would bring LLVM, and modules that need SELinux.
      "postgresql-15":
        /^usr\/(?:lib\/postgresql\/15\/bin\/(?:postgres|initdb)|lib\/postgresql\/15\/lib\/(?!llvmjit|sepgsql)[^/]+\.so|share\/postgresql\/15\/.+)$/,
      "postgresql-client-15": /^usr\/lib\/postgresql\/15\/bin\/(?:pg_dump|pg_restore|pg_basebackup|psql)$/,
      tzdata: /^usr\/share\/zoneinfo\/(?!right\/|posix\/|localtime$)/,
    },
    libraries: [
      ...sharedLibraries,
      ...systemdLibraries,
      ...names("libpq5 libicu72 libxml2 libxslt1.1 libuuid1 libreadline8 libpam0g libaudit1 libcap-ng0"),
      ...kerberosLibraries,
      ...ldapLibraries,
    ],
  },
  {
    name: "mariadb",
    files: {
      "mariadb-server-core":
        /^usr\/(?:sbin\/mariadbd|share\/mysql\/(?:charsets|english)\/.+|share\/mysql\/(?:mysql_|maria_)\w+\.sql)$/,
      "mariadb-client-core": /^usr\/bin\/mariadb$/,
      "mariadb-client": /^usr\/bin\/mariadb-dump$/,
    },
    libraries: names(
      "libaio1 liburing2 libcrypt1 libpcre2-8-0 libncurses6 libedit2 libbsd0 libmd0 libnuma1 libsnappy1v5",
    ),
  },
  {
    name: "redis",
    files: {
      "redis-server": /^usr\/bin\/redis-server$/,
      "redis-tools": /^usr\/bin\/(?:redis-cli|redis-check-rdb)$/,
    },
    libraries: names("libjemalloc2 liblzf1"),
  },
];

/** Splits lines of names. */
function names(...lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => line.split(" "));
}
