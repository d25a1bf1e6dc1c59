import { groupedBy } from '../../core/grouped.js';

/** A map of the files of a directory: what each of them defines, the ones that others use most first. Pure, and the same for the same files. */

export interface Definition {
  readonly file: string;
  readonly line: number;
  readonly text: string;
  readonly name: string;
}

export interface Mapped {
  /** In the order of their names. */
  readonly files: readonly string[];
  readonly definitions: readonly Definition[];
  /** Which files use which names. */
  readonly uses: readonly { readonly file: string; readonly name: string }[];
  /** Whether there are more files than were looked at. */
  readonly more: boolean;
}

const ROUNDS = 20;
const DAMPING = 0.85;
/** Files in the chat, and names that the conversation has, say what the work is about. */
const IN_CHAT = 50;
const MENTIONED = 10;
const PRIVATE = 0.1;
const LONGEST_LINE = 100;
const LINES_OF_FILE = 40;

const WORDS = [
  'def|class|function|func|fn|struct|enum|trait|interface|type|module|mod|impl|const|let|var|object|record|namespace|protocol|defn|defmodule|sub|macro_rules!',
];
const NAME = new RegExp(`\\b(?:${WORDS.join('|')})\\s+(?:\\([^)]{0,80}\\)\\s*)?([A-Za-z_$][\\w$]{0,79})`);
const CALLED = /([A-Za-z_][\w$]{0,79})\s*\(/;

/** The name that a line defines; null: it defines none. */
export function nameIn(line: string): string | null {
  const start = line.slice(0, 300);
  return (NAME.exec(start) ?? CALLED.exec(start))?.[1] ?? null;
}

/** Names in a text, for what the conversation mentions. */
export const namesOf = (text: string): ReadonlySet<string> => new Set(text.match(/[A-Za-z_]\w{2,79}/g) ?? []);

/** Files in the order of their weight: those whose definitions are used by files that are themselves used, as PageRank has it. */
export function rankFiles(
  { files, definitions, uses }: Mapped,
  chat: ReadonlySet<string>,
  mentioned: ReadonlySet<string>,
): readonly string[] {
  const links = linksOf(definitions, uses, chat, mentioned);
  const base = new Map(files.map((file) => [file, (isMentioned(file, mentioned) ? MENTIONED : 1) / files.length]));
  let rank = new Map(base);
  for (let round = 0; round < ROUNDS; round++) {
    const next = new Map(files.map((file) => [file, (1 - DAMPING) * (base.get(file) ?? 0)]));
    for (const [file, out] of links) {
      const sum = [...out.values()].reduce((total, one) => total + one, 0);
      if (sum === 0) continue;
      for (const [to, weight] of out)
        next.set(to, (next.get(to) ?? 0) + (DAMPING * (rank.get(file) ?? 0) * weight) / sum);
    }
    rank = next;
  }
  // Rounded, so that an order never hangs on the last bit of a sum.
  const score = (file: string): number => Math.round((rank.get(file) ?? 0) * 1e9);
  return files.toSorted((a, b) => score(b) - score(a) || (a < b ? -1 : 1));
}

/** How much each file uses the definitions of others. */
function linksOf(
  definitions: Mapped['definitions'],
  uses: Mapped['uses'],
  chat: ReadonlySet<string>,
  mentioned: ReadonlySet<string>,
): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const definers = new Map<string, Set<string>>();
  for (const { name, file } of definitions) definers.set(name, (definers.get(name) ?? new Set()).add(file));
  const links = new Map<string, Map<string, number>>();
  for (const { file, name } of uses) {
    const found = definers.get(name);
    if (found === undefined) continue;
    const weight =
      ((chat.has(file) ? IN_CHAT : 1) * (mentioned.has(name) ? MENTIONED : 1) * (name.startsWith('_') ? PRIVATE : 1)) /
      found.size;
    const out = links.get(file) ?? new Map<string, number>();
    for (const definer of found) if (definer !== file) out.set(definer, (out.get(definer) ?? 0) + weight);
    links.set(file, out);
  }
  return links;
}

const isMentioned = (file: string, mentioned: ReadonlySet<string>): boolean => {
  const name = file.slice(file.lastIndexOf('/') + 1);
  return mentioned.has(name.slice(0, name.indexOf('.') < 0 ? name.length : name.indexOf('.')));
};

/** The map within a number of characters: definitions of files as they fit, and then the names of others. */
export function mapText(
  mapped: Mapped,
  chat: ReadonlySet<string>,
  mentioned: ReadonlySet<string>,
  most: number,
): string {
  const byFile = groupedBy(mapped.definitions, ({ file }) => file);
  const ranked = rankFiles(mapped, chat, mentioned).filter((file) => !chat.has(file));
  const names: string[] = [];
  const parts: string[] = [];
  let chars = 0;
  let left = 0;
  for (const file of ranked) {
    const lines = (byFile.get(file) ?? [])
      .slice(0, LINES_OF_FILE)
      .map(({ line, text }) => `${line}│${text.slice(0, LONGEST_LINE).trimEnd().toWellFormed()}`);
    const part = lines.length === 0 ? file : `${file}:\n${lines.join('\n')}\n`;
    const shown = chars + part.length <= most ? part : file;
    if (chars + shown.length + 1 > most) left++;
    else {
      chars += shown.length + 1;
      (shown === file ? names : parts).push(shown);
    }
  }
  const more = mapped.more ? ['(There are more files than were looked at.)'] : [];
  const rest = left === 0 ? [] : [`(${left} more files)`];
  return [...parts, ...names, ...rest, ...more].join('\n');
}
