import { z } from 'zod';
import { COMMANDS_MOST } from '../shell-commands.js';
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

const MORE = `a call has more than ${COMMANDS_MOST} commands, which are not all read`;

/** Whether a command is what a pattern says, or that with more arguments. */
export function isLike(command: string, wanted: string): boolean {
  const text = wanted.trim().split(/\s+/).join(' ');
  const isOf = (one: string): boolean => matches(one, text) || matches(one, `${text} *`);
  // A program may be named by its place.
  return isOf(command) || (/^[^ /]+( |$)/.test(text) && isOf(command.replace(/^[^ ]*\//, '')));
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
