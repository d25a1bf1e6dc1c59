import { z } from 'zod';
import { approvalToolName } from '../../core/plans/node-call.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';

/** `approve`: does nothing but wait for so many people to approve what it is given. Needs `human:ask:approval`. */
export const approvalTool = (approvals: number): DeclaredTool =>
  defineTool({
    name: approvalToolName(approvals),
    description: 'Waits until people approve.',
    input: z.object({ what: z.string().min(1).max(8192).describe('What is approved.') }),
    output: z.object({ approved: z.literal(true) }),
    capabilities: ['human:ask:approval'],
    effect: 'pure',
    approval: ({ what }) => what,
    approvals,
    execute: () => ({ approved: true as const }),
  });
