import { type EnvironmentSpec, isWithin } from './environment-spec.js';

/**
 * Variables that make programs load code when they start. An image or a task may point them into the workspace. Programs that judge a
 * run start without them. A program that a test tries gets them back.
 */

/** Each is a list of places with ":" between them. A test keeps the places that no agent can write to. */
export const GUARDED_LISTS = [
  ...['PATH', 'LD_LIBRARY_PATH', 'GCONV_PATH', 'LOCPATH', 'TMPDIR'],
  ...['PYTHONPATH', 'PYTHONHOME', 'PYTHONUSERBASE', 'PYTHONPYCACHEPREFIX', 'NODE_PATH'],
  ...['RUBYLIB', 'GEM_HOME', 'GEM_PATH', 'BUNDLE_GEMFILE', 'BUNDLE_APP_CONFIG', 'PERL5LIB', 'PERLLIB'],
  ...['GOPATH', 'GOROOT', 'GOENV', 'GOWORK', 'GOTOOLDIR', 'GOMODCACHE', 'GOCACHE', 'CARGO_HOME', 'RUSTUP_HOME'],
  ...['JAVA_HOME', 'CLASSPATH', 'PHPRC', 'PHP_INI_SCAN_DIR', 'R_HOME', 'R_LIBS', 'R_LIBS_USER', 'R_LIBS_SITE'],
  ...['R_PROFILE', 'R_PROFILE_USER', 'R_ENVIRON', 'R_ENVIRON_USER', 'JULIA_DEPOT_PATH', 'JULIA_LOAD_PATH'],
  ...['OPENSSL_CONF', 'OPENSSL_MODULES', 'OPENSSL_ENGINES', 'NIX_PATH', 'GUILE_LOAD_PATH', 'TCLLIBPATH'],
  ...[
    'XDG_CONFIG_HOME',
    'XDG_CONFIG_DIRS',
    'XDG_DATA_HOME',
    'XDG_DATA_DIRS',
    'XDG_CACHE_HOME',
    'ZDOTDIR',
    'VIRTUAL_ENV',
  ],
] as const;

/** Options, and files that programs execute when they start. No test has them. */
export const GUARDED_OPTIONS = [
  ...['LD_PRELOAD', 'LD_AUDIT', 'LD_DEBUG_OUTPUT', 'LD_PROFILE_OUTPUT', 'GLIBC_TUNABLES', 'LD_ORIGIN_PATH'],
  ...['BASH_ENV', 'ENV', 'PS4', 'CDPATH', 'PROMPT_COMMAND', 'LESSOPEN', 'LESSCLOSE', 'MAKEFILES', 'MAKEFLAGS'],
  ...['PYTHONSTARTUP', 'PYTHONINSPECT', 'PYTHONBREAKPOINT', 'PYTHONWARNINGS', 'PYTHON_PRESITE', 'PYTHONEXECUTABLE'],
  ...['PYTHONPLATLIBDIR', 'PYTEST_ADDOPTS', 'PYTEST_PLUGINS', 'COVERAGE_PROCESS_START'],
  ...['NODE_OPTIONS', 'NODE_REPL_EXTERNAL_MODULE', 'RUBYOPT', 'BUNDLE_BIN_PATH', 'PERL5OPT', 'PERL5DB', 'GOFLAGS'],
  ...['JAVA_TOOL_OPTIONS', '_JAVA_OPTIONS', 'JDK_JAVA_OPTIONS', 'RUSTC_WRAPPER', 'LUA_INIT', 'LUA_PATH', 'LUA_CPATH'],
  ...['DOTNET_STARTUP_HOOKS', 'DOTNET_ADDITIONAL_DEPS', 'CORECLR_ENABLE_PROFILING', 'CORECLR_PROFILER_PATH'],
] as const;

/** Beginnings of names of more options. */
const GUARDED_BEGINNINGS = ['GIT_', 'BASH_FUNC_', 'npm_config_', 'NPM_CONFIG_'] as const;

/** Before every other place of a PATH: where images have the programs that Holdfast's own scripts use. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const SYSTEM_PLACES: ReadonlySet<string> = new Set(SYSTEM_PATH.split(':'));

/** The names that are guarded in a container, with spaces between them. */
export const GUARDED = 'HOLDFAST_GUARDED';
/** The names that a program gets back, with what the image and the task gave, when a test tries it. */
export const GIVEN = 'HOLDFAST_GIVEN';
/** Before a name: what the image and the task gave, and what a test has of it. */
export const GIVEN_VALUE = `${GIVEN}_`;
export const LEFT_VALUE = 'HOLDFAST_LEFT_';

const NAMES: ReadonlySet<string> = new Set<string>([...GUARDED_LISTS, ...GUARDED_OPTIONS]);
const isGuarded = (name: string): boolean =>
  NAMES.has(name) || GUARDED_BEGINNINGS.some((beginning) => name.startsWith(beginning));

type Variables = Readonly<Record<string, string>>;

/** What is guarded of the variables of an image and a task. A PATH that has only system places stays. */
const guardedOf = (given: Variables): Variables =>
  Object.fromEntries(
    Object.entries(given).filter(
      ([name, value]) => isGuarded(name) && !(name === 'PATH' && value.split(':').every((at) => SYSTEM_PLACES.has(at))),
    ),
  );

/** Where the agent, or a program of it that a test tries, can write to. */
export const placesOfAgent = ({ workdir, mounts }: Pick<EnvironmentSpec, 'workdir' | 'mounts'>): readonly string[] => [
  ...[workdir, '/tmp', '/dev/shm'],
  ...mounts.flatMap(({ target, readOnly }) => (readOnly ? [] : [target])),
];

/** The PATH of Holdfast's own scripts. */
const ownPath = (given: string, places: readonly string[]): string => {
  const others = given.split(':').filter((at) => at.startsWith('/') && !places.some((place) => isWithin(at, place)));
  return [...new Set([...SYSTEM_PLACES, ...others])].join(':');
};

/** What a container that judges has in place of its guarded variables. An engine cannot remove those of an image, and empties them. */
export function guardedVariables(given: Variables, spec: Pick<EnvironmentSpec, 'workdir' | 'mounts'>): Variables {
  const guarded = Object.entries(guardedOf(given));
  if (guarded.length === 0) return {};
  const names = guarded.map(([name]) => name).filter((name) => /^[A-Za-z_]\w*$/.test(name));
  const places = placesOfAgent(spec);
  return {
    ...Object.fromEntries(guarded.map(([name, value]) => [name, name === 'PATH' ? ownPath(value, places) : ''])),
    ...Object.fromEntries(names.map((name) => [`${GIVEN_VALUE}${name}`, given[name] ?? ''])),
    [GUARDED]: names.join(' '),
  };
}

/** A program of the task's own, in a container that judges, with the variables that the image and the task give it. */
export function withGiven(command: readonly string[], given: Variables): readonly string[] {
  const guarded = Object.entries(guardedOf(given)).map(([name, value]) => `${name}=${value}`);
  return guarded.length === 0 ? command : ['env', ...guarded, ...command];
}

/** What a container of Holdfast's own starts with that executes a program of an image beside files of an agent. */
export const EMPTY_VARIABLES: readonly string[] = [...NAMES].map(
  (name) => `${name}=${name === 'PATH' ? SYSTEM_PATH : ''}`,
);
