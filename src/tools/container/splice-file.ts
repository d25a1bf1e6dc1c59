import { createHash } from 'node:crypto';
import { extname } from 'node:path/posix';
import type { ToolContext } from '../../core/tools/tool.js';
import { withoutKnownSecrets } from '../../models/secrets/known-secrets.js';
import { notEdited, type Original } from './container-original.js';
import { PARSES } from './parse-check.js';

/** An argument of a command has at most 128 KiB. */
export const MAX_TEXT_BYTES = 100_000;
const TIMEOUT_SECONDS = 60;
const SAID_BYTES = 2000;

/**
 * Puts a text in the place of some bytes of a file, all or nothing. Arguments: path, draft, checker, bytes before, first byte after (from 1),
 * SHA-256 that the file must have (none: no file), text. Who makes the draft may edit: of two at once from the same file one is refused. Its
 * exit code 4: nothing can be written there; 5: the file is another one by now; 6: it is being edited; 9: it parsed, and would not any more.
 */
const SPLICE = `
${PARSES}
path=$1 draft=$2 checker=$3 before=$4 after=$5 digest=$6 text=$7
( set -C; : >"$draft" ) 2>/dev/null || { [ -e "$draft" ] && exit 6; exit 4; }
trap 'rm -f "$draft"' EXIT
source=/dev/null found=none
if [ -e "$path" ] || [ -L "$path" ]; then
  source=$path found=$(sha256sum <"$path" | head -c 64)
  chmod "$(stat -c %a "$path")" "$draft" 2>/dev/null
fi
[ "$found" = "$digest" ] || exit 5
{ head -c "$before" "$source" && printf '%s' "$text" && tail -c "+$after" "$source"; } >"$draft" || exit 4
if [ -n "$checker" ] && ! parses "$checker" "$draft" >/dev/null; then
  parses "$checker" "$path" >/dev/null 2>&1 && exit 9
  echo "It does not parse."
fi
mv -f "$draft" "$path"
`;

/** Some bytes of a text, and what stands there then. */
export interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** The smallest splice that makes one text of another. */
export function spliceBetween(before: string, after: string): Splice {
  const most = Math.min(before.length, after.length);
  let from = 0;
  while (from < most && before[from] === after[from]) from++;
  // Half of a character is none.
  if (isHighSurrogate(before, from - 1)) from--;
  let same = 0;
  while (same < most - from && before[before.length - 1 - same] === after[after.length - 1 - same]) same++;
  if (same > 0 && isHighSurrogate(before, before.length - same - 1)) same--;
  return { from, to: before.length - same, text: after.slice(from, after.length - same) };
}

const isHighSurrogate = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code <= 0xdbff;
};

/**
 * Replaces bytes of a file once, also after a crash, if it still is the one that was read. `checker`: what must still parse it; empty:
 * nothing. Gives a note on what does not parse. Throws `file_unwritable`.
 */
export async function spliceFile(
  { environment }: Pick<ToolContext, 'environment'>,
  file: string,
  { path: real, text: before }: Original,
  { from, to, text: lines }: Splice,
  checker: string,
): Promise<string> {
  const original = before ?? '';
  const bytesTo = (at: number): number => Buffer.byteLength(original.slice(0, at));
  const digest = before === null ? 'none' : createHash('sha256').update(before).digest('hex');
  const draft = `${real.slice(0, real.lastIndexOf('/'))}/.${draftName(real, digest)}${extname(real)}`;
  const bytes = [String(bytesTo(from)), String(bytesTo(to) + 1)];
  const argv = ['sh', '-c', SPLICE, 'sh', real, draft, checker, ...bytes, digest, lines];
  const bounds = { timeoutSeconds: TIMEOUT_SECONDS, maxOutputBytes: SAID_BYTES };
  const { exitCode, stdout, stderr } = await environment.run(argv, bounds);
  const said = withoutKnownSecrets(stderr.text).replaceAll(draft, file).trim().toWellFormed();
  if (exitCode === 6) throw notEdited(file, `another call is editing it; if none is, remove ${draft}`);
  if (exitCode === 5) throw notEdited(file, 'it was changed meanwhile; open it again');
  if (exitCode === 9) throw notEdited(file, `it would not parse any more, and is as it was. ${said}`);
  if (exitCode === 4) throw notEdited(file, 'nothing can be written there');
  if (exitCode !== 0) throw notEdited(file, said === '' ? `the program for it ended with ${exitCode}` : said);
  return stdout.text.trim();
}

/** Of the same file as it is, there is one draft. */
const draftName = (path: string, digest: string): string =>
  `edit-${createHash('sha256').update(`${path}\n${digest}`).digest('hex').slice(0, 16)}`;
