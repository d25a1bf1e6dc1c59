import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { defineTool } from '../../src/index.js';
import { place } from './kill-switch.js';

const effectsFile = process.env['EFFECTS_FILE'] ?? '';

/** What the world has seen of a tool, one line per execution. */
export const effects = (name: string): string[] =>
  existsSync(effectsFile)
    ? readFileSync(effectsFile, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith(`${name}:`))
    : [];

const shape = { input: z.object({ n: z.number() }), output: z.object({ done: z.string() }) };

/** Looks into the world whether a call happened. */
const probe = async ({ n }: { n: number }) =>
  effects('wire').length > 0
    ? { happened: true as const, output: { done: `wire ${n}` } }
    : { happened: false as const };

type More = { readonly approval?: boolean; readonly probed?: boolean };

/** A tool that leaves a line in the world, and dies right before or after where it is told to. */
export const effectTool = (name: string, effect: 'pure' | 'idempotent' | 'unsafe', { approval, probed }: More = {}) =>
  defineTool({
    name,
    description: `Does ${name}.`,
    ...shape,
    effect,
    approval: approval ? `${name} must be approved.` : false,
    ...(probed ? { onUnknownEffect: 'probe' as const, probe } : {}),
    execute: ({ n }, { callId }) => {
      place(`${name}:before`);
      appendFileSync(effectsFile, `${name}:${callId}\n`);
      place(`${name}:after`);
      return { done: `${name} ${n}` };
    },
  });
