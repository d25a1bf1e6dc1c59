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
    'XDG_STATE_HOME',
    'ZDOTDIR',
    'VIRTUAL_ENV',
  ],
  ...['FPATH', 'BASH_LOADABLES_PATH', 'AWKPATH', 'AWKLIBPATH', 'CURL_HOME', 'WGETRC', 'HGRCPATH', 'INPUTRC', 'PSQLRC'],
  ...['GCC_EXEC_PREFIX', 'COMPILER_PATH', 'LIBRARY_PATH', 'CPATH', 'C_INCLUDE_PATH', 'CPLUS_INCLUDE_PATH'],
  ...['PKG_CONFIG_PATH', 'PKG_CONFIG_LIBDIR', 'CMAKE_PREFIX_PATH', 'CMAKE_MODULE_PATH', 'CMAKE_TOOLCHAIN_FILE'],
  ...['M2_HOME', 'MAVEN_HOME', 'MAVEN_BASEDIR', 'GRADLE_HOME', 'GRADLE_USER_HOME', 'ANT_HOME', 'SBT_HOME'],
  ...['SCALA_HOME', 'KOTLIN_HOME', 'GROOVY_HOME', 'DOTNET_ROOT', 'NUGET_PACKAGES', 'MONO_PATH', 'MONO_CFG_DIR'],
  ...['BUNDLE_PATH', 'BUNDLE_USER_HOME', 'BUNDLE_USER_CONFIG', 'RBENV_ROOT', 'PYENV_ROOT', 'ASDF_DIR'],
  ...['ASDF_DATA_DIR', 'NVM_DIR', 'VOLTA_HOME', 'PNPM_HOME', 'COREPACK_HOME', 'DENO_DIR', 'BUN_INSTALL'],
  ...['NODE_COMPILE_CACHE', 'COMPOSER_HOME', 'ERL_LIBS', 'MIX_HOME', 'MIX_ARCHIVES', 'HEX_HOME', 'GHC_PACKAGE_PATH'],
  ...['GHC_ENVIRONMENT', 'OCAMLPATH', 'CAML_LD_LIBRARY_PATH', 'OPAMROOT', 'OPAM_SWITCH_PREFIX', 'TCL_LIBRARY'],
  ...['GUILE_LOAD_COMPILED_PATH', 'EMACSLOADPATH', 'JULIA_PROJECT', 'JULIA_BINDIR', 'PERL_LOCAL_LIB_ROOT', 'RAKULIB'],
  ...['MYPYPATH', 'MPLCONFIGDIR', 'MATPLOTLIBRC', 'IPYTHONDIR', 'NUMBA_CACHE_DIR', 'CONDA_PREFIX', 'PIP_CONFIG_FILE'],
  ...['PYLINTRC', 'RUFF_CONFIG', 'COVERAGE_RCFILE', 'KERAS_HOME', 'HF_MODULES_CACHE', 'TORCH_EXTENSIONS_DIR'],
  ...['GI_TYPELIB_PATH', 'GIO_EXTRA_MODULES', 'GTK_PATH', 'QT_PLUGIN_PATH', 'GST_PLUGIN_PATH', 'ODBCINI', 'ODBCSYSINI'],
] as const;

/** Names of programs, which a test keeps: from its PATH, or at a place that no agent can write to. */
export const GUARDED_PROGRAMS = [
  ...['CC', 'CXX', 'CPP', 'LD', 'AR', 'AS', 'NM', 'RANLIB', 'STRIP', 'FC', 'MAKE', 'SHELL', 'EDITOR', 'VISUAL'],
  ...['PAGER', 'MANPAGER', 'BROWSER', 'RUSTC', 'RUSTDOC', 'CARGO', 'RUSTUP_TOOLCHAIN', 'GOTOOLCHAIN', 'RSYNC_RSH'],
  ...['SVN_SSH', 'CVS_RSH', 'SSH_ASKPASS', 'HARNESS_PERL'],
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
  ...['GNUMAKEFLAGS', 'MFLAGS', 'SHELLOPTS', 'BASHOPTS', 'CFLAGS', 'CXXFLAGS', 'CPPFLAGS', 'LDFLAGS', 'LDLIBS'],
  ...['CGO_CFLAGS', 'CGO_CPPFLAGS', 'CGO_CXXFLAGS', 'CGO_LDFLAGS', 'RUSTFLAGS', 'RUSTDOCFLAGS', 'JAVA_OPTS'],
  ...['MAVEN_OPTS', 'MAVEN_ARGS', 'MAVEN_CONFIG', 'GRADLE_OPTS', 'ANT_OPTS', 'ANT_ARGS', 'SBT_OPTS', 'SPEC_OPTS'],
  ...['RAKEOPT', 'RUBYGEMS_GEMDEPS', 'HARNESS_OPTIONS', 'HARNESS_PERL_SWITCHES', 'PERL_MM_OPT', 'PERL_MB_OPT'],
  ...['TAR_OPTIONS', 'ERL_FLAGS', 'ERL_AFLAGS', 'ERL_ZFLAGS', 'ELIXIR_ERL_OPTIONS', 'OCAMLRUNPARAM', 'BUN_OPTIONS'],
  ...['MONO_ENV_OPTIONS', 'DART_VM_OPTIONS', 'MPLBACKEND', 'KERAS_BACKEND', 'GTK_MODULES'],
] as const;

/** Beginnings of names of more options. */
const GUARDED_BEGINNINGS = [
  ...['GIT_', 'BASH_FUNC_', 'npm_config_', 'NPM_CONFIG_', 'LD_', 'LUA_', 'TS_NODE_', 'PYTEST_', 'COV_CORE_'],
  ...['CARGO_ALIAS_', 'CARGO_BUILD_', 'CARGO_TARGET_', 'CORECLR_', 'COMPlus_'],
] as const;

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

const NAMES: ReadonlySet<string> = new Set<string>([...GUARDED_LISTS, ...GUARDED_PROGRAMS, ...GUARDED_OPTIONS]);
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

/** What a container of Holdfast's own starts with that executes a program of an image beside files of an agent. */
export const EMPTY_VARIABLES: readonly string[] = [...NAMES].map(
  (name) => `${name}=${name === 'PATH' ? SYSTEM_PATH : ''}`,
);
