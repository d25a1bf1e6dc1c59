import { extname } from 'node:path/posix';

/** How it is looked whether a file of a language parses: nothing of it is executed. */
const CHECKERS: { readonly [extension: string]: string } = {
  ...{ '.py': 'python', '.js': 'node', '.mjs': 'node', '.cjs': 'node', '.sh': 'sh', '.bash': 'bash' },
};

/** What parses a file in the container; empty: nothing does. */
export const checkerOf = (path: string): string => CHECKERS[extname(path)] ?? '';

/** Whether a text is JSON, for which no program is needed. */
export function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * In a shell: `parses <checker> <file>`, true also where the program for it is not there. -I keeps python from reading what lies beside
 * the file.
 */
export const PARSES = `
parses() {
  case $1 in
  python) command -v python3 >/dev/null || return 0
    python3 -I -c 'import sys; compile(open(sys.argv[1], "rb").read(), sys.argv[1], "exec")' "$2" ;;
  node) command -v node >/dev/null || return 0
    node --check "$2" ;;
  bash) command -v bash >/dev/null || return 0
    bash -n "$2" ;;
  sh) sh -n "$2" ;;
  esac
}
`;
