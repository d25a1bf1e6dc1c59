import { z } from 'zod';
import { defineTool } from '../../src/index.js';
import { happened, leave } from './world.js';

const shape = { input: z.object({ n: z.number() }), output: z.object({ done: z.string() }) };

interface More {
  readonly approval?: boolean;
  readonly approvals?: number;
  readonly probed?: boolean;
  /** Several runs call it with the same id: the world sees which run it was. */
  readonly perRun?: boolean;
}

/** A tool that leaves a line in the world. */
export function effectTool(name: string, effect: 'pure' | 'idempotent' | 'unsafe', more: More = {}) {
  const { approval, approvals, probed, perRun } = more;
  const probe = async ({ n }: { n: number }, { callId, runId }: { readonly callId: string; readonly runId: string }) =>
    happened({ tool: name, callId, runId })
      ? { happened: true as const, output: { done: `${name} ${n}` } }
      : { happened: false as const };
  return defineTool({
    name,
    description: `Does ${name}.`,
    ...shape,
    effect,
    approval: approval ? `${name} must be approved.` : false,
    ...(approvals === undefined ? {} : { approvals }),
    ...(probed ? { onUnknownEffect: 'probe' as const, probe } : {}),
    execute: ({ n }, { callId, idempotencyKey }) => {
      leave(name, perRun ? idempotencyKey : callId);
      return { done: `${name} ${n}` };
    },
  });
}
