import type { ResolvedTask } from './resolve-task.js';
import { bytesOf } from './task-file.js';

/** A text as one word of a POSIX shell. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Characters of a command, far below what a shell takes as one argument. */
const PIECE = 32_768;

/** The reference solution of a task as commands for a shell in its workspace, in their order. */
export function solutionCommands({ solution }: Pick<ResolvedTask, 'solution'>): readonly string[] {
  if (solution === null) return [];
  const commands: string[] = [];
  for (const [path, file] of Object.entries(solution.files)) {
    const content = bytesOf(file).toString('base64');
    const target = shellWord(path);
    commands.push(
      `${path.includes('/') ? `mkdir -p ${shellWord(path.slice(0, path.lastIndexOf('/')))} && ` : ''}: >${target}`,
    );
    for (let at = 0; at < content.length; at += PIECE)
      commands.push(`echo ${content.slice(at, at + PIECE)} | base64 -d >>${target}`);
    commands.push(`chmod ${file.mode} ${target}`);
  }
  return [...joined(commands), ...(solution.script === null ? [] : scriptCommands(solution.script))];
}

/** Short commands together, so that a solution of small files is one command. */
function joined(commands: readonly string[]): readonly string[] {
  const all: string[] = [];
  let now = 'set -e';
  for (const command of commands) {
    if (now.length + command.length > PIECE && now !== 'set -e') {
      all.push(now);
      now = 'set -e';
    }
    now += `\n${command}`;
  }
  return now === 'set -e' ? all : [...all, now];
}

/** A script that is too long for a command comes by a file, which is removed after it. */
function scriptCommands(script: string): readonly string[] {
  if (script.length <= PIECE) return [`sh -c ${shellWord(script)}`];
  const content = Buffer.from(script, 'utf8').toString('base64');
  const pieces: string[] = [];
  for (let at = 0; at < content.length; at += PIECE)
    pieces.push(`echo ${content.slice(at, at + PIECE)} | base64 -d >>/tmp/solve.sh`);
  return [...pieces, 'sh /tmp/solve.sh; code=$?; rm -f /tmp/solve.sh; exit $code'];
}
