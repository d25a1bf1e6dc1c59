import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import type { ToolContext } from '../../core/tools/tool.js';
import { withoutKnownSecrets } from '../../models/secrets/known-secrets.js';
import { shownOutput } from '../container/bash.js';
import { containerPath, mayRead, textOf } from '../container/container-path.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { type Definition, type Mapped, mapText, nameIn, namesOf } from './repo-map.js';

/** How a model finds and sees files: a map of them, and files that are added to the chat. */

const MAX_FILE_BYTES = 1_048_576;
const FILES = 1000;
/** All of them are one argument, of at most 128 KiB. */
const NAMES = 1500;
const LISTED_BYTES = 262_144;
const FOUND_BYTES = 1_048_576;
const BIGGEST_MAPPED = '200k';
const TIMEOUT_SECONDS = 120;

/**
 * The files of a directory in the order of their names, where it really is in the first line: those that git knows or would, else all but hidden ones. Argument: directory.
 */
const LIST = `
real=$(readlink -f "$1") && cd "$real" 2>/dev/null || exit 3
printf '%s\\n' "$real"
{ git -c safe.directory='*' -c core.fsmonitor=false ls-files -co --exclude-standard 2>/dev/null ||
  find . -name '.?*' -prune -o -name node_modules -prune -o -type f -print | sed 's|^\\./||'; } | LC_ALL=C sort -u
`;

/** Lines of files that look like definitions. Arguments: directory, files. */
const DEFINING = `
cd "$1" || exit 3
shift
find "$@" -maxdepth 0 -type f -size -${BIGGEST_MAPPED} -exec grep -nIE \\
  -e '^[[:space:]]*(export |default |public |private |protected |internal |static |abstract |final |sealed |async |pub |pub\\([a-z]+\\) |unsafe |inline |open |override )*(def|class|function\\*?|func|fn|struct|enum|trait|interface|type|module|mod|impl|object|record|namespace|protocol|defn|defmodule|sub) +[A-Za-z_$(]' \\
  -e '^(export |pub |static )*(const|let|var) +[A-Za-z_$]' \\
  -e '^[A-Za-z_][A-Za-z0-9_ *&:<>]* [*&]?[A-Za-z_][A-Za-z0-9_:]*\\([^;]*$' \\
  -- /dev/null {} + 2>/dev/null
exit 0
`;

/** Which files use which names. Arguments: directory, names in one text, files. */
const USING = `
cd "$1" || exit 3
names=$2
shift 2
find "$@" -maxdepth 0 -type f -size -${BIGGEST_MAPPED} -exec awk -v names="$names" '
  BEGIN { count = split(names, list, " "); for (i = 1; i <= count; i++) wanted[list[i]] = 1 }
  { line = $0; gsub(/[^A-Za-z0-9_$]+/, " ", line); size = split(line, words, " ")
    for (i = 1; i <= size && i <= 500; i++) { word = words[i]
      if ((word in wanted) && !((FILENAME, word) in seen)) { seen[FILENAME, word] = 1; print FILENAME "\\t" word } } }
' {} + 2>/dev/null
exit 0
`;

async function mapOf(context: ToolContext, directory: string): Promise<Mapped> {
  const run = async (script: string, maxOutputBytes: number, ...rest: string[]) =>
    context.environment.run(['sh', '-c', script, 'sh', ...rest], { timeoutSeconds: TIMEOUT_SECONDS, maxOutputBytes });
  const listed = await run(LIST, LISTED_BYTES, directory);
  if (listed.timedOut || listed.exitCode !== 0)
    throw new HoldfastError(
      'file_unreadable',
      `${directory} cannot be mapped: it is no directory, or its files took too long to list.`,
    );
  const [real = '', ...all] = listed.stdout.text.split('\n');
  context.require(`container:read:${real}`);
  // The last name may be cut off.
  if (listed.stdout.omittedBytes > 0) all.pop();
  // git quotes names that are hard to show.
  const named = all.filter((file) => /^[^"]/.test(file) && mayRead(context, `${real}/${file}`));
  const files = named.slice(0, FILES);
  const more = named.length > FILES || listed.stdout.omittedBytes > 0;
  if (files.length === 0) return { files, definitions: [], uses: [], more };
  const known = new Set(files);
  // So no name is an option, or an assignment of awk.
  const paths = files.map((file) => `./${file}`);
  const found = await run(DEFINING, FOUND_BYTES, real, ...paths);
  const definitions = shownOutput(found.stdout)
    .split('\n')
    .flatMap((line) => definitionOf(line, known));
  const names = [...new Set(definitions.map(({ name }) => name))].filter((name) => name.length > 2).slice(0, NAMES);
  if (names.length === 0) return { files, definitions, uses: [], more };
  const used = await run(USING, FOUND_BYTES, real, names.join(' '), ...paths);
  const uses = used.stdout.text.split('\n').flatMap((line) => {
    const [path = '', name] = line.split('\t');
    const file = path.slice(2);
    return name === undefined || !known.has(file) ? [] : [{ file, name }];
  });
  return { files, definitions, uses, more };
}

function definitionOf(line: string, files: ReadonlySet<string>): readonly Definition[] {
  const [, file = '', number = '', text = ''] = /^\.\/([^:]{1,4096}):(\d{1,9}):(.*)$/.exec(line) ?? [];
  const name = nameIn(text);
  return name === null || !files.has(file) ? [] : [{ file, line: Number(number), text, name }];
}

export const mapShown = z.strictObject({ map: z.string() });
export const fileShown = z.strictObject({ path: z.string(), text: z.string() });

export const lookTools = (mapChars: number, fileChars: number): DeclaredTool[] => [
  defineTool({
    untrusted: 'container',
    name: 'repo_map',
    description: 'Gives a map of the files of a directory: what they define, those that others use most first.',
    input: z.strictObject({
      path: containerPath,
      chat: z
        .array(z.string().max(4096))
        .max(1000)
        .describe('Files in the chat, relative to the directory. They are left out.'),
      mentioned: z.string().max(65_536).describe('Text whose names count more.'),
    }),
    output: mapShown,
    ...{ capabilities: ({ path }: { readonly path: string }) => [`container:read:${path}`], effect: 'pure' },
    timeoutMs: 600_000,
    execute: async ({ path, chat, mentioned }, context) => ({
      map: mapText(await mapOf(context, path), new Set(chat), namesOf(mentioned), mapChars),
    }),
  }),
  defineTool({
    untrusted: 'container',
    name: 'add_file',
    description: 'Adds a text file to the chat, whole.',
    input: z.strictObject({ path: containerPath }),
    output: fileShown,
    ...{ capabilities: ({ path }: { readonly path: string }) => [`container:read:${path}`], effect: 'pure' },
    maxOutputBytes: fileChars * 6 + 8192,
    execute: async ({ path }, { environment, require }) => {
      const { path: real, bytes } = await environment.read(path, MAX_FILE_BYTES);
      require(`container:read:${real}`);
      const text = textOf(bytes);
      if (text === null) throw new HoldfastError('file_unreadable', `${path} is not text in UTF-8.`);
      if (text.length > fileChars)
        throw new HoldfastError(
          'file_unreadable',
          `${path} has ${text.length} characters; a file in the chat has at most ${fileChars}.`,
        );
      return { path, text: withoutKnownSecrets(text) };
    },
  }),
];
