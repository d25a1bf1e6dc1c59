import { z } from 'zod';
import { taskText } from './task-file.js';

/** How an agent has to work, beside what it has to achieve. */

const pattern = taskText(500).min(1);
const patterns = z.array(pattern).max(50).default([]);
const steps = z.int().min(1).max(100_000);

export const processRules = z
  .strictObject({
    /** At least one command of the agent must match each. `*` stands for any text. */
    requiredCommands: patterns,
    /** No command of the agent may match one. */
    forbiddenCommands: patterns,
    /** Answers of models. */
    leastSteps: steps.exactOptional(),
    mostSteps: steps.exactOptional(),
    /** At work, without pauses. */
    mostSeconds: z.int().min(1).max(604_800).exactOptional(),
  })
  .refine(({ leastSteps = 1, mostSteps = 100_000 }) => leastSteps <= mostSteps, {
    path: ['leastSteps'],
    error: 'is more than mostSteps',
  });
export type ProcessRules = z.output<typeof processRules>;

/** How a rule was kept. */
export const ruleEnd = z.object({
  rule: z.string().describe('Its name, such as `mostSteps` or `forbiddenCommands: git push`.'),
  kept: z.boolean(),
  why: z.string(),
});
export type RuleEnd = z.infer<typeof ruleEnd>;

/** What the log of a run says of how its agent worked. */
export interface Process {
  readonly steps: number;
  readonly seconds: number;
  /** Of those patterns that a command matched, the first command. */
  readonly matched: ReadonlyMap<string, string>;
  /** Whether a call has more commands than are read: one that is forbidden could hide there. */
  readonly unread: boolean;
}

const SHOWN = 200;
const shown = (text: string): string => JSON.stringify(text.slice(0, SHOWN).toWellFormed());

/** Judges how an agent worked. */
export function judgeProcess(
  rules: ProcessRules,
  { steps: took, seconds, matched, unread }: Process,
): readonly RuleEnd[] {
  const { requiredCommands, forbiddenCommands, leastSteps, mostSteps, mostSeconds } = rules;
  const bound = (rule: string, limit: number | undefined, kept: boolean, why: string): readonly RuleEnd[] =>
    limit === undefined ? [] : [{ rule, kept, why }];
  return [
    ...requiredCommands.map((one) => {
      const command = matched.get(one);
      const why = command === undefined ? `no command is like ${shown(one)}` : `it ran ${shown(command)}`;
      return { rule: `requiredCommands: ${one}`, kept: command !== undefined, why };
    }),
    ...forbiddenCommands.map((one) => {
      const command = matched.get(one);
      const none = unread ? MORE : `no command is like ${shown(one)}`;
      const why = command === undefined ? none : `it ran ${shown(command)}`;
      return { rule: `forbiddenCommands: ${one}`, kept: command === undefined && !unread, why };
    }),
    ...bound('leastSteps', leastSteps, took >= (leastSteps ?? 0), `${took} steps, of ${leastSteps} at least`),
    ...bound('mostSteps', mostSteps, took <= (mostSteps ?? took), `${took} steps, of ${mostSteps} at most`),
    ...bound(
      'mostSeconds',
      mostSeconds,
      seconds <= (mostSeconds ?? 0),
      `${seconds} seconds, of ${mostSeconds} at most`,
    ),
  ];
}

/** Of a call so many commands are read, and of each so many characters. */
export const COMMANDS_MOST = 200;
const COMMAND_READ = 1000;
const MORE = `a call has more than ${COMMANDS_MOST} commands, which are not all read`;

const BETWEEN: ReadonlySet<string> = new Set([...'|&;\n()`{}']);
/** What stands before a program and starts it, or says its variables. */
const BEFORE = /^(?:(?:sudo|env|exec|command|time|nohup|if|while|until|then|do|else|!|[A-Za-z_][A-Za-z0-9_]*=\S*)\s+)+/;
const OF_SHELL = /^(?:\S*\/)?(?:ba|da|z)?sh\s+(?:-\S+\s+)*-\w*c\s+(['"])([\s\S]*)\1/;

/** The parts of a line of a shell that stand between its separators. Comments are left out, and quotes are one piece. */
function* partsOf(line: string): Generator<string> {
  let from = 0;
  let quote = '';
  for (let at = 0; at < line.length; at++) {
    const one = line.charAt(at);
    if (one === '\\' && quote !== "'") at++;
    else if (quote !== '') quote = one === quote ? '' : quote;
    else if (one === '"' || one === "'") quote = one;
    else if (BETWEEN.has(one)) {
      yield line.slice(from, at);
      from = at + 1;
    } else if (one === '#' && (at === from || /\s/.test(line.charAt(at - 1)))) {
      yield line.slice(from, at);
      const end = line.indexOf('\n', at);
      from = at = end < 0 ? line.length : end;
    }
  }
  yield line.slice(from);
}

/** The commands in a line of a shell, and one more than `COMMANDS_MOST` at most. Text in quotes is not read, but for that of `sh -c`. */
export function commandsIn(line: string): readonly string[] {
  const commands: string[] = [];
  const lines = [line];
  // A line that was read stays: shells within shells count, too.
  for (let at = 0; at < lines.length; at++) {
    if (at > COMMANDS_MOST) return Array.from({ length: COMMANDS_MOST + 1 }, () => '');
    for (const part of partsOf(lines[at] ?? '')) {
      const command = part.trim().replace(BEFORE, '');
      const inner = OF_SHELL.exec(command)?.[2];
      if (inner !== undefined) lines.push(inner);
      else if (command !== '') commands.push(command.slice(0, COMMAND_READ).split(/\s+/).join(' '));
      if (commands.length > COMMANDS_MOST) return commands;
    }
  }
  return commands;
}

/** Whether a command is what a pattern says, or that with more arguments. */
export function isLike(command: string, wanted: string): boolean {
  const text = wanted.trim().split(/\s+/).join(' ');
  return matches(command, text) || matches(command, `${text} *`);
}

/** `*` stands for any text. Takes as long as both are long, multiplied, and no longer. */
function matches(text: string, wanted: string): boolean {
  let [at, of, star, from] = [0, 0, -1, 0];
  while (at < text.length) {
    if (wanted[of] === '*') [star, from] = [of++, at];
    else if (of < wanted.length && wanted[of] === text[at]) [at, of] = [at + 1, of + 1];
    else if (star >= 0) [at, of] = [++from, star + 1];
    else return false;
  }
  while (wanted[of] === '*') of++;
  return of === wanted.length;
}
